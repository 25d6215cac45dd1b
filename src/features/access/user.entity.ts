import { Column, Entity, PrimaryColumn, Unique } from 'typeorm';

@Entity('users', {
  comment:
    'Who has signed in, or is an owner: an id for an address. A raised session_generation ends all tokens',
})
@Unique('users_address_key', ['address'])
export class User {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'users_pkey' })
  id: string;

  /** Lower-cased. */
  @Column({ type: 'text', collation: 'C' })
  address: string;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3 })
  createdAt: Date;

  /** Rises when the user ends all sessions. Each token names the generation in which it was issued. */
  @Column({ type: 'integer', name: 'session_generation', default: 0 })
  sessionGeneration: number;

  /** The next sign-in ends it, and starts over. */
  @Column({
    type: 'boolean',
    name: 'has_left',
    default: false,
    comment: 'Had the account deleted, and has not signed in since',
  })
  hasLeft: boolean;
}
