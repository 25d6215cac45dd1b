import { Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { PoolType } from '#values/types';
import { Pool } from './pool.entity';

/** Who may read a pool. By address, so that a wallet that signs in later sees it too. The owner is also listed. */
@Entity('pool_members', {
  comment: 'The owner and the members of each pool',
})
@Index('pool_members_address_idx', ['address', 'poolId'])
@Index('pool_members_owner_idx', ['address', 'type', 'poolId'], { where: `role = 'OWNER'` })
@Index('pool_members_member_idx', ['indexed', 'address', 'type', 'poolId'], { where: `role = 'MEMBER'` })
@Index('pool_members_indexed_idx', ['poolId', 'address'], { where: 'indexed' })
export class PoolMember {
  @PrimaryColumn('uuid', { name: 'pool_id', primaryKeyConstraintName: 'pool_members_pkey' })
  poolId: string;

  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'pool_members_pkey', collation: 'C' })
  address: string;

  @ManyToOne(() => Pool, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'pool_id', foreignKeyConstraintName: 'pool_members_pool_id_fkey' })
  pool: Pool;

  @Column({ type: 'text', collation: 'C' })
  role: 'OWNER' | 'MEMBER';

  /** The pool's type, repeated here so that one index serves the filtered list. */
  @Column({ type: 'text', collation: 'C' })
  type: PoolType;

  /** False for the first few memberships of an address, which its lists look up. The database sets it. */
  @Column('boolean', {
    comment:
      'Whether member_streams and member_counts have it: so have the memberships of an address beyond the first few',
  })
  indexed: boolean;
}
