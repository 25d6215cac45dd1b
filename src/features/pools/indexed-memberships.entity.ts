import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { PoolType, TransactionType } from '#values/types';

/** What the indexed memberships of an address add up to. The database writes these rows. */
@Entity('member_counts', {
  comment:
    'Derived: of the indexed memberships of an address, how many pools there are of each type, and how many transactions of each type in these; a row each for the indexer (0) and all others (1)',
})
export class MemberCount {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'member_counts_pkey', collation: 'C' })
  address: string;

  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'member_counts_pkey', collation: 'C' })
  type: PoolType | TransactionType;

  /** 0: written by the indexer, 1: by everyone else. A count is the sum of both rows. */
  @PrimaryColumn('smallint', { primaryKeyConstraintName: 'member_counts_pkey' })
  writer: number;

  @Column('bigint', { default: 0 })
  count: string;
}

/**
 * For each indexed membership, the first and the newest transaction of each type and status in the pool. So the lists of
 * a member of very many pools look only into those that may have something for the page. The database writes these rows.
 */
@Entity('member_streams', {
  comment:
    'Derived: the first and the newest transaction of each type and status in the pool of an indexed membership',
})
@Index('member_streams_last_idx', ['address', 'type', 'status', 'lastId', 'firstId', 'poolId'])
export class MemberStream {
  @PrimaryColumn('uuid', { name: 'pool_id', primaryKeyConstraintName: 'member_streams_pkey' })
  poolId: string;

  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'member_streams_pkey', collation: 'C' })
  address: string;

  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'member_streams_pkey', collation: 'C' })
  type: string;

  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'member_streams_pkey', collation: 'C' })
  status: string;

  @Column('uuid', { name: 'first_id' })
  firstId: string;

  @Column('uuid', { name: 'last_id' })
  lastId: string;
}
