import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { TransactionStatus, TransactionType } from '#values/types';
import { Pool } from './pool.entity';

/** A movement of a pool's money. Balances and totals are derived from this ledger. */
@Entity('transactions', {
  comment: 'The ledger: a row for every deposit, withdrawal and claim, announced or on the chain',
})
@Index('transactions_pool_id_idx', ['poolId', 'type', 'id'])
@Index('transactions_owner_id_idx', ['ownerId', 'type', 'id'])
@Index('transactions_outside_idx', ['account', 'type', 'id', 'poolId'], { where: 'NOT by_owner' })
@Index('transactions_tx_hash_idx', ['txHash', 'logIndex'], { where: 'tx_hash IS NOT NULL' })
@Index('transactions_expired_idx', ['createdAt'], { where: `status = 'EXPIRED'` })
@Index('transactions_pending_idx', ['createdAt'], { where: `status = 'PENDING'` })
@Index('transactions_unconfirmed_idx', ['poolId'], { where: `status IN ('PENDING', 'EXPIRED')` })
@Index('transactions_unconfirmed_owner_idx', ['ownerId', 'status', 'id'], {
  where: `status IN ('PENDING', 'EXPIRED')`,
})
@Index('transactions_unconfirmed_outside_idx', ['account', 'status', 'id'], {
  where: `status IN ('PENDING', 'EXPIRED') AND NOT by_owner`,
})
@Index('transactions_gas_idx', ['blockNumber'], { where: `status = 'CONFIRMED' AND gas_used IS NULL` })
@Check(
  'transactions_confirmed_check',
  `(status = 'CONFIRMED') = (tx_hash IS NOT NULL AND block_number IS NOT NULL AND log_index IS NOT NULL)`,
)
export class Transaction {
  /** UUIDv7 of `createdAt`, so that ids sort by time. */
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'transactions_pkey' })
  id: string;

  @Column('uuid', { name: 'pool_id' })
  poolId: string;

  /** The trigger that keeps the totals checks that the pool exists. A foreign key would do the same work again. */
  @ManyToOne(() => Pool, { createForeignKeyConstraints: false })
  @JoinColumn({ name: 'pool_id' })
  pool: Pool;

  /** The pool's owner, repeated here so that one index serves an owner's list for any number of pools. */
  @Column('uuid', {
    name: 'owner_id',
    comment: "Of the pool, here too so that one index serves an owner's list",
  })
  ownerId: string;

  @Column('boolean', { name: 'by_owner', comment: "Whether the account is the owner's" })
  byOwner: boolean;

  @Column({ type: 'text', collation: 'C' })
  type: TransactionType;

  @Column({ type: 'text', collation: 'C' })
  status: TransactionStatus;

  /** The wallet whose money it is, lower-cased. */
  @Column({ type: 'text', collation: 'C' })
  account: string;

  /** Smallest token units. Once confirmed, the amount on the chain. */
  @Column('numeric', { precision: 78, scale: 0 })
  amount: string;

  /** The amount requested through the API; null if the transaction was only seen on the chain. */
  @Column('numeric', { name: 'requested_amount', precision: 78, scale: 0, nullable: true })
  requestedAmount: string | null;

  @Column({ type: 'text', name: 'tx_hash', nullable: true, collation: 'C' })
  txHash: string | null;

  @Column('bigint', { name: 'block_number', nullable: true })
  blockNumber: string | null;

  @Column('integer', { name: 'log_index', nullable: true })
  logIndex: number | null;

  @Column('numeric', { name: 'gas_used', precision: 78, scale: 0, nullable: true })
  gasUsed: string | null;

  /** Wei per gas. */
  @Column('numeric', { name: 'gas_price', precision: 78, scale: 0, nullable: true })
  gasPrice: string | null;

  /** Wei. What chains of the OP stack take beside the gas; null on others. */
  @Column('numeric', { name: 'l1_fee', precision: 78, scale: 0, nullable: true })
  l1Fee: string | null;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3 })
  createdAt: Date;

  /** Time of the block. */
  @Column({ type: 'timestamptz', name: 'confirmed_at', precision: 3, nullable: true })
  confirmedAt: Date | null;
}
