import { Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { PoolType } from '#values/types';
import { User } from '#features/access/user.entity';

/**
 * A savings pool. Amounts are decimal strings in smallest token units. The database derives balance, yield, apr and
 * counts from transactions and accruals, and refuses to let anyone else write them.
 */
@Entity('pools', {
  comment: 'Pools, each with sums that are derived from its transactions, accruals and members',
})
@Index('pools_owner_id_idx', ['ownerId', 'contractAddress', 'id'])
export class Pool {
  /** UUIDv7, so that ids sort by creation time. */
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'pools_pkey' })
  id: string;

  @Column({ type: 'text', collation: 'C' })
  type: PoolType;

  @Column('uuid', { name: 'owner_id' })
  ownerId: string;

  @ManyToOne(() => User)
  @JoinColumn({ name: 'owner_id', foreignKeyConstraintName: 'pools_owner_id_fkey' })
  owner: User;

  @Column({ type: 'text', name: 'contract_address', collation: 'C' })
  contractAddress: string;

  @Column('numeric', { default: 0 })
  balance: string;

  /** The part of the balance that is not on the chain yet. */
  @Column('numeric', { name: 'pending_balance', default: 0 })
  pendingBalance: string;

  @Column('numeric', { name: 'total_yield', default: 0 })
  totalYield: string;

  @Column('numeric', { name: 'claimed_yield', default: 0 })
  claimedYield: string;

  /** Annual percentage rate in hundredths of a percent: any uint32. */
  @Column('bigint', { name: 'apr_bps', default: 0 })
  aprBps: string;

  @Column('boolean', { name: 'auto_compound', default: false })
  autoCompound: boolean;

  /** The owner is not counted. */
  @Column('smallint', { name: 'member_count', default: 0 })
  memberCount: number;

  @Column('integer', { name: 'deposit_count', default: 0 })
  depositCount: number;

  @Column('integer', { name: 'withdrawal_count', default: 0 })
  withdrawalCount: number;

  @Column('integer', { name: 'claim_count', default: 0 })
  claimCount: number;

  /** Ids of the newest transaction of each type: a member's list reads only pools that can be on the page. */
  @Column('uuid', { name: 'last_deposit_id', nullable: true })
  lastDepositId: string | null;

  @Column('uuid', { name: 'last_withdrawal_id', nullable: true })
  lastWithdrawalId: string | null;

  @Column('uuid', { name: 'last_claim_id', nullable: true })
  lastClaimId: string | null;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3 })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'last_update', precision: 3 })
  lastUpdate: Date;

  @Column({ type: 'timestamptz', name: 'last_claimed_at', precision: 3, nullable: true })
  lastClaimedAt: Date | null;
}
