import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

@Entity('nonces', {
  comment: 'Nonces of sign-in messages that are not used yet',
})
export class Nonce {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'nonces_pkey', collation: 'C' })
  nonce: string;

  /** The only address that may sign in with it, or null for any. */
  @Column({ type: 'text', nullable: true, collation: 'C' })
  address: string | null;

  @Column({ type: 'timestamptz', name: 'expires_at', precision: 3 })
  @Index('nonces_expires_at_idx')
  expiresAt: Date;
}
