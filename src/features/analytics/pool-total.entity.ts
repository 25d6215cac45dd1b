import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { PoolType } from '#values/types';

/**
 * A shard of the totals over all pools of a type at a contract. A total is the sum of its shards. The database writes these rows.
 */
@Entity('pool_totals', {
  comment:
    'Derived: totals of a type of pools at a contract, split over shards so that writers do not queue behind one row; a total is the sum of its shards',
})
export class PoolTotal {
  @PrimaryColumn('smallint', { primaryKeyConstraintName: 'pool_totals_pkey' })
  shard: number;

  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'pool_totals_pkey', collation: 'C' })
  type: PoolType;

  /** Lower case. It has one token, so amounts of two tokens never meet in one row. */
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'pool_totals_pkey', collation: 'C' })
  contract: string;

  @Column('bigint', { default: 0 })
  pools: string;

  @Column('numeric', { default: 0 })
  deposited: string;

  /** The part of the deposits that is not on the chain yet. */
  @Column('numeric', { default: 0 })
  pending: string;

  @Column('numeric', { default: 0 })
  yield: string;

  @Column('bigint', { name: 'apr_bps', default: 0 })
  aprBps: string;
}
