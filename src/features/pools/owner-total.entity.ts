import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { PoolType } from '#values/types';

/** What a user owns of a type of pools at a contract. The database writes these rows. */
@Entity('owner_totals', {
  comment:
    'Derived: per owner, type and contract how many pools he has, how many of them have a balance, and sums of their yield and rate; a row each for the indexer (0) and all others (1), so that they never wait for each other',
})
export class OwnerTotal {
  @PrimaryColumn('uuid', { name: 'owner_id', primaryKeyConstraintName: 'owner_totals_pkey' })
  ownerId: string;

  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'owner_totals_pkey', collation: 'C' })
  type: PoolType;

  /** Lower case. It has one token, so amounts of two tokens never meet in one row. */
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'owner_totals_pkey', collation: 'C' })
  contract: string;

  /** 0: written by the indexer, 1: by everyone else. A total is the sum of both rows. */
  @PrimaryColumn('smallint', { primaryKeyConstraintName: 'owner_totals_pkey' })
  writer: number;

  @Column('integer', { default: 0 })
  pools: number;

  /** Those with a balance. */
  @Column('integer', { default: 0 })
  active: number;

  @Column('numeric', { default: 0 })
  yield: string;

  @Column('bigint', { name: 'apr_bps', default: 0 })
  aprBps: string;
}
