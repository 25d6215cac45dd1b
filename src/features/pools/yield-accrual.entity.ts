import { Column, Entity, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import { Pool } from './pool.entity';

/** Yield that the chain credited to a pool. Its total yield and apr are derived from this ledger. */
@Entity('yield_accruals', {
  comment: 'The ledger: a row for every accrual of yield to a pool',
})
export class YieldAccrual {
  @PrimaryColumn('uuid', { name: 'pool_id', primaryKeyConstraintName: 'yield_accruals_pkey' })
  poolId: string;

  @PrimaryColumn('bigint', { name: 'block_number', primaryKeyConstraintName: 'yield_accruals_pkey' })
  blockNumber: string;

  @PrimaryColumn('integer', { name: 'log_index', primaryKeyConstraintName: 'yield_accruals_pkey' })
  logIndex: number;

  @ManyToOne(() => Pool)
  @JoinColumn({ name: 'pool_id', foreignKeyConstraintName: 'yield_accruals_pool_id_fkey' })
  pool: Pool;

  @Column('numeric', { precision: 78, scale: 0 })
  amount: string;

  @Column('bigint', { name: 'apr_bps' })
  aprBps: string;

  @Column({ type: 'timestamptz', name: 'accrued_at', precision: 3 })
  accruedAt: Date;
}
