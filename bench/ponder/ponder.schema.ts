import { index, onchainTable, primaryKey } from 'ponder';

/** As little as a page about pools needs: the service keeps more. */
export const transactions = onchainTable(
  'transactions',
  (t) => ({
    id: t.text().primaryKey(),
    poolId: t.hex().notNull(),
    ref: t.hex().notNull(),
    type: t.text().notNull(),
    account: t.hex().notNull(),
    amount: t.bigint().notNull(),
    seq: t.bigint().notNull(),
    txHash: t.hex().notNull(),
    block: t.bigint().notNull(),
    time: t.bigint().notNull(),
  }),
  (x) => ({ byPool: index().on(x.poolId), byHash: index().on(x.txHash) }),
);

export const positions = onchainTable(
  'positions',
  (t) => ({
    poolId: t.hex().notNull(),
    account: t.hex().notNull(),
    balance: t.bigint().notNull(),
    claimed: t.bigint().notNull(),
  }),
  (x) => ({ pk: primaryKey({ columns: [x.poolId, x.account] }) }),
);

export const totals = onchainTable('totals', (t) => ({
  poolId: t.hex().primaryKey(),
  total: t.bigint().notNull(),
  deposits: t.integer().notNull(),
  accrued: t.bigint().notNull(),
}));
