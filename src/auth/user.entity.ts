import { Check, Column, Entity, PrimaryColumn, Unique } from 'typeorm';

@Entity('users')
@Unique('users_address_key', ['address'])
@Check('users_address_check', `address ~ '^0x[0-9a-f]{40}$'`)
export class User {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'users_pkey' })
  id: string;

  /** Lower-cased. */
  @Column({ type: 'text', collation: 'C' })
  address: string;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3 })
  createdAt: Date;
}
