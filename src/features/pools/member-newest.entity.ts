import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * For each indexed membership, the newest transaction of each type and status in the pool. So the lists of a member of
 * very many pools begin with those that have something for the page. The database writes these rows.
 */
@Entity('member_newest', {
  comment: 'Derived: the newest transaction of each type and status in the pool of an indexed membership',
})
@Index('member_newest_last_idx', ['address', 'type', 'status', 'lastId', 'poolId'])
export class MemberNewest {
  @PrimaryColumn('uuid', { name: 'pool_id', primaryKeyConstraintName: 'member_newest_pkey' })
  poolId: string;

  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'member_newest_pkey', collation: 'C' })
  address: string;

  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'member_newest_pkey', collation: 'C' })
  type: string;

  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'member_newest_pkey', collation: 'C' })
  status: string;

  @Column('uuid', { name: 'last_id' })
  lastId: string;
}
