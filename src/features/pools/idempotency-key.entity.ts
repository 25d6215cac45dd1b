import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** The first answer to a request with an Idempotency-Key header, written in the transaction that did the work. */
@Entity('idempotency_keys', {
  comment: 'The answers that repeated requests get again, by user and key',
})
export class IdempotencyKey {
  @PrimaryColumn('uuid', { name: 'user_id', primaryKeyConstraintName: 'idempotency_keys_pkey' })
  userId: string;

  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'idempotency_keys_pkey', collation: 'C' })
  key: string;

  @Column({ type: 'text', name: 'request_hash', collation: 'C' })
  requestHash: string;

  @Column('text')
  response: string;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3 })
  @Index('idempotency_keys_created_at_idx')
  createdAt: Date;
}
