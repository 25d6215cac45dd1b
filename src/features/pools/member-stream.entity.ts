import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

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
