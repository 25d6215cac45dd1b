import fc from 'fast-check';
import type { ChainEvent } from '#indexer/reading/decode';
import { type Holding, type ShareEvent, movementsOf } from '#indexer/ledger/movements';
import { type Part, SECOND, ShareModel } from '#verify/checks/share-model';

/** What shares cost stands in two places on purpose, in movements.ts and share-model.ts: each is held against the other. */
const ACCOUNTS = ['a', 'b', 'c'].map((digit) => `0x${digit.repeat(40)}`);
const VAULT = `0x${'e'.repeat(40)}`;

/** The rows that events of a vault become, in the order of the chain. */
function rowsOf(
  events: Pick<ShareEvent, 'kind' | 'poolName' | 'account' | 'shares' | 'amount'>[],
  isPool: boolean,
): {
  rows: ChainEvent[];
  holdings: Map<string, Holding>;
} {
  const holdings = new Map(ACCOUNTS.map((account) => [account, { shares: 0n, cost: 0n }]));
  const rows = events.flatMap((event, logIndex) =>
    movementsOf({ ...event, contract: VAULT, blockNumber: 1, logIndex, seq: logIndex } as ShareEvent, {
      isPool,
      holdingOf: (account) => holdings.get(account)!,
    }),
  );
  return { rows, holdings };
}

const partOf = (row: ChainEvent): Part => ({
  id: `${row.blockNumber} ${row.logIndex}`,
  kind: row.kind,
  shares: BigInt(row.shares!),
  amount: BigInt(row.amount ?? 0),
  pool: row.poolId,
});

/** What the models of all accounts find wrong, and what these have then. */
function checked(rows: ChainEvent[]): { wrong: string[]; models: Map<string, ShareModel> } {
  const models = new Map(ACCOUNTS.map((account) => [account, new ShareModel()]));
  const at = new Map(rows.map((row) => [BigInt(row.logIndex), row]));
  const wrong = rows.flatMap((row) => {
    const index = BigInt(row.logIndex);
    const other = at.get((index + SECOND) % (2n * SECOND));
    return models
      .get(row.account!)!
      .apply({ own: partOf(row), isSecond: index >= SECOND, other: other && partOf(other) });
  });
  return { wrong: wrong.map(({ id, kind }) => `${id.split(' ')[1]} ${kind.split('.')[1]}`), models };
}

const number = fc.bigInt({ min: 0n, max: 10n ** 24n });
const account = fc.constantFrom(...ACCOUNTS);
const event = fc
  .record({
    kind: fc.constantFrom('SharesBought' as const, 'SharesSold' as const, 'SharesMoved' as const),
    poolName: account,
    account,
    shares: fc.oneof(number, fc.bigInt({ min: 1n, max: 9n })).map(String),
    amount: number.map(String),
  })
  .map((each) =>
    each.kind === 'SharesMoved' ? { ...each, amount: null } : { ...each, account: each.poolName },
  )
  .filter(({ kind, poolName, account: to }) => kind !== 'SharesMoved' || poolName !== to);
const events = fc.array(event, { minLength: 1, maxLength: 40 });

it('has one result in both places', () => {
  fc.assert(
    fc.property(events, fc.boolean(), (some, isPool) => {
      const { rows, holdings } = rowsOf(some, isPool);
      const { wrong, models } = checked(rows);
      expect(wrong).toEqual([]);
      for (const [who, { shares, cost }] of holdings)
        expect(models.get(who)).toMatchObject({ shares, cost, isDoubtful: false });
    }),
  );
});

it('finds a part that is a unit too large, in what was sold and in what was given', () => {
  fc.assert(
    fc.property(events, fc.boolean(), fc.nat(), (some, isPool, at) => {
      const { rows } = rowsOf(some, isPool);
      const split = rows.filter(({ kind }) => kind === 'Withdrawn');
      fc.pre(split.length > 0);
      const one = split[at % split.length];
      const { wrong } = checked(
        rows.map((row) => (row === one ? { ...row, amount: `${BigInt(row.amount!) + 1n}` } : row)),
      );
      // A payout that was all of it: the assets are what the parts are together.
      fc.pre(!isAllPaidIn(rows, one));
      expect(wrong).toContain(`${one.logIndex} amount`);
    }),
  );
});

/** Whether what was paid out was less than the shares have cost: then one more is one more of that. */
const isAllPaidIn = (rows: ChainEvent[], { logIndex }: ChainEvent): boolean =>
  rows.some((row) => row.logIndex === logIndex + Number(SECOND) && row.amount === '0');
