import fc from 'fast-check';
import type { Kind } from '#ledger/adapters/happening';
import type { ChainEvent } from '#indexer/reading/decode';
import { NO_FIELDS } from '../../../test/support/chain/adapters';
import { type Item, type PoolState, copyPools, decide } from './decide';

const POOL = 'a'.repeat(32);
const CONTRACT = `0x${'c'.repeat(40)}`;
const [SAVER, OTHER] = [`0x${'1'.repeat(40)}`, `0x${'2'.repeat(40)}`];
const RULES = { effective: 1000, lotteries: new Set<string>() };

let place = 0;
const event = (kind: Kind, amount: string, fields: Partial<ChainEvent> = {}): Item => ({
  event: {
    ...{ ...NO_FIELDS, blockNumber: 1, logIndex: (place += 1), blockHash: '0x', time: 1, txHash: '0x' },
    ...{ contract: CONTRACT, seq: place, kind, poolId: POOL, account: SAVER, amount },
    ...fields,
  },
});
const pools = (announced: PoolState['announced'] = [], balance = 0n): Map<string, PoolState> =>
  new Map([[POOL, { contract: CONTRACT, ownerId: 'owner', owner: SAVER, circle: null, balance, announced }]]);
const row = (id: string, requested = '100', account = SAVER): PoolState['announced'][number] => ({
  id,
  requested,
  account,
});
const matches = (items: Item[], announced: PoolState['announced']): (string | undefined)[] =>
  decide(items, pools(announced), RULES).map(({ matched }) => matched?.id);

it.each([
  ['also where there is a pool', pools()],
  ['where no pool will ever take them up', new Map()],
])('refuses shares that their account is not known to have, %s', (_, known) => {
  const [{ outcome, reason }] = decide([event('SharesSold', '7', { shares: '7' })], known, RULES);
  expect([outcome, reason]).toEqual(['REFUSED', 'more shares than the account is known to have']);
});

it('makes no transaction of nothing that shares have earned, and does of nothing else', () => {
  const items = [event('YieldClaimed', '0', { shares: '0' }), event('YieldClaimed', '0')];
  const made = decide(items, pools(), RULES).map(({ transactionId }) => transactionId !== undefined);
  expect(made).toEqual([false, true]);
});

describe('matching', () => {
  it('takes the one that is referred to, whatever its amount', () => {
    const announced = [row('1'), row('2', '7')];
    expect(matches([event('Deposited', '100', { ref: '2' })], announced)).toEqual(['2']);
  });

  it('takes none of another account or pool by reference', () => {
    const foreign = event('Deposited', '5', { ref: '1', account: OTHER });
    expect(matches([foreign], [row('1')])).toEqual([undefined]);
    expect(matches([event('Deposited', '100', { poolId: 'b'.repeat(32), ref: '1' })], [row('1')])).toEqual([
      undefined,
    ]);
  });

  it('takes the oldest of account and amount otherwise, each once', () => {
    const deposits = [1, 2, 3].map(() => event('Deposited', '100'));
    expect(matches(deposits, [row('1', '9'), row('2', '100', OTHER), row('3'), row('4')])).toEqual([
      '3',
      '4',
      undefined,
    ]);
  });

  it('otherwise takes the one whose payer submitted the transaction, whatever the amount, or for which it is stored', () => {
    const told = (fields: object): PoolState['announced'][number] => ({ ...row('1'), ...fields });
    const paid = (amount: string, fields = {}): Item =>
      event('Deposited', amount, { txHash: '0x1', ...fields });
    const one = [told({ hash: '0x1' }), told({ id: '2', hash: '0x1' })];
    expect(matches([paid('99'), paid('98'), paid('97')], one)).toEqual(['1', '2', undefined]);
    expect(matches([{ ...paid('99'), transactionId: '1' }], [row('1')])).toEqual(['1']);
    for (const none of [paid('0'), paid('9', { account: OTHER }), paid('9', { txHash: '0x2' })])
      expect(matches([{ ...none, transactionId: '3' }], [told({ hash: '0x1' })])).toEqual([undefined]);
  });

  it('takes none for yield that is paid in again, by reference or by amount', () => {
    const compounded = { ref: '636f6d706f756e640000000000000000' };
    const deposits = [event('Deposited', '100', compounded), event('Deposited', '100')];
    expect(matches(deposits, [row('1')])).toEqual([undefined, '1']);
  });

  it('leaves a deposit that refers to a taken one the next of its amount', () => {
    const deposits = [event('Deposited', '100'), event('Deposited', '100', { ref: '1' })];
    expect(matches(deposits, [row('1'), row('2')])).toEqual(['1', '2']);
  });
});

describe('an overdraw', () => {
  it('does not count against the next withdrawal', () => {
    const items = [
      event('Deposited', '10'),
      event('Withdrawn', '11'),
      event('Withdrawn', '9'),
      event('Withdrawn', '2'),
    ];
    const outcomes = decide(items, pools(), RULES).map(({ outcome }) => outcome);
    expect(outcomes).toEqual(['APPLIED', 'OVERDRAW', 'APPLIED', 'OVERDRAW']);
  });

  it('is not covered by what was only announced', () => {
    expect(decide([event('Withdrawn', '1')], pools([row('1')]), RULES)[0].outcome).toBe('OVERDRAW');
  });
});

it('decides the same however events are cut into batches', () => {
  const amount = fc.integer({ min: 1, max: 3 }).map(String);
  const item = fc
    .tuple(
      fc.constantFrom<Kind>('Deposited', 'Deposited', 'Withdrawn'),
      amount,
      fc.constantFrom(null, '1', '2', '3'),
      fc.boolean(),
    )
    .map(([kind, sum, ref, own]) => event(kind, sum, { ref, account: own ? SAVER : OTHER }));
  const announced = fc
    .array(fc.tuple(amount, fc.boolean()), { maxLength: 4 })
    .map((rows) => rows.map(([sum, own], i) => row(`${i + 1}`, sum, own ? SAVER : OTHER)));
  const cuts = fc.array(fc.nat({ max: 20 }), { maxLength: 5 });
  fc.assert(
    fc.property(fc.array(item, { maxLength: 20 }), announced, cuts, (items, rows, at) => {
      const start = pools(rows, 2n);
      const whole = decide(items, copyPools(start), RULES);
      const state = copyPools(start);
      const borders = [0, ...at.sort((a, b) => a - b), items.length];
      const parts = borders.slice(1).flatMap((to, i) => decide(items.slice(borders[i], to), state, RULES));
      const shown = (decisions: typeof whole): unknown =>
        decisions.map(({ outcome, transactionId, matched }) => [outcome, transactionId, matched?.id]);
      fc.pre(borders.every((border, i) => i === 0 || border >= borders[i - 1]));
      expect(shown(parts)).toEqual(shown(whole));
    }),
  );
});
