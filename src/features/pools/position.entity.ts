import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** What a pool's contract counts for an account, as replayed by the indexer. Amounts in smallest token units. */
@Entity('positions', {
  comment: 'Derived: what the contract of a pool counts for an account, from its events',
})
@Index('positions_address_idx', ['address', 'poolId'])
export class Position {
  @PrimaryColumn('uuid', { name: 'pool_id', primaryKeyConstraintName: 'positions_pkey' })
  poolId: string;

  @PrimaryColumn('text', { collation: 'C', primaryKeyConstraintName: 'positions_pkey' })
  address: string;

  @Column('numeric')
  balance: string;

  /** The weight at a time in seconds is balance * time - offset. */
  @Column('numeric', { name: 'weight_offset' })
  offset: string;

  /** Unclaimed yield of the pool's first `accruals` accruals. */
  @Column('numeric')
  owed: string;

  @Column('integer')
  accruals: number;

  @Column('numeric')
  deposited: string;

  @Column('numeric')
  withdrawn: string;

  @Column('numeric')
  claimed: string;
}
