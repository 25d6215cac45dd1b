import { Column, Entity, PrimaryColumn } from 'typeorm';

/** What an address did in a UTC day, and how many transactions of that day it may read; kept by the database. */
@Entity('account_days', {
  comment:
    'Derived: per UTC day what an address deposited and claimed, and how many transactions it may read',
})
export class AccountDay {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'account_days_pkey', collation: 'C' })
  address: string;

  @PrimaryColumn('date', { primaryKeyConstraintName: 'account_days_pkey' })
  day: string;

  @Column('numeric', { default: 0 })
  deposited: string;

  @Column('numeric', { default: 0 })
  claimed: string;

  @Column('integer', { name: 'readable_deposits', default: 0 })
  readableDeposits: number;

  @Column('integer', { name: 'readable_withdrawals', default: 0 })
  readableWithdrawals: number;

  @Column('integer', { name: 'readable_claims', default: 0 })
  readableClaims: number;
}
