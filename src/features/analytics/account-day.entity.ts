import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * What an address did on a UTC day at a contract, and how many transactions it has in its own list that day: those of its own
 * pools, and its payments into pools of others where it is not a member. The database writes these rows.
 */
@Entity('account_days', {
  comment:
    'Derived: per UTC day and contract what an address deposited and claimed, and how many transactions it may list as owner or as an outsider who paid; a row each for the indexer (0) and all others (1), so that they never wait for each other',
})
export class AccountDay {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'account_days_pkey', collation: 'C' })
  address: string;

  @PrimaryColumn('date', { primaryKeyConstraintName: 'account_days_pkey' })
  day: string;

  /** Lower case. It has one token, so amounts of two tokens never meet in one row. */
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'account_days_pkey', collation: 'C' })
  contract: string;

  /** 0: written by the indexer, 1: by everyone else. A total is the sum of both rows. */
  @PrimaryColumn('smallint', { primaryKeyConstraintName: 'account_days_pkey' })
  writer: number;

  @Column('numeric', { default: 0 })
  deposited: string;

  /** The part of the deposits that is not on the chain yet. */
  @Column('numeric', { default: 0 })
  pending: string;

  @Column('numeric', { default: 0 })
  claimed: string;

  @Column('integer', { default: 0 })
  deposits: number;

  @Column('integer', { default: 0 })
  withdrawals: number;

  @Column('integer', { default: 0 })
  claims: number;
}
