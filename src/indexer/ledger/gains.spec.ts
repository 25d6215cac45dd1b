import fc from 'fast-check';
import type { ChainEvent } from '#indexer/reading/decode';
import { MAX_LOGS, MAX_PLACES } from '#indexer/reading/raw-chain';
import { NO_FIELDS } from '../../../test/support/chain/adapters';
import type { Item, PoolState } from './decide';
import { splitGains } from './gains';

const POOL = 'a'.repeat(32);
const CONTRACT = `0x${'c'.repeat(40)}`;
const ACCOUNT = `0x${'1'.repeat(40)}`;
const RULES = { effective: 9, lotteries: new Set<string>() };
const POOLS = new Map<string, PoolState>([
  [POOL, { contract: CONTRACT, ownerId: '', owner: ACCOUNT, circle: null, balance: 0n, announced: [] }],
]);

function event(kind: ChainEvent['kind'], amount: number, fields: Partial<ChainEvent> = {}): Item {
  const { blockNumber = 1, logIndex = 0 } = fields;
  return {
    event: {
      ...{ ...NO_FIELDS, blockHash: '0x', time: 1, txHash: '0x', contract: CONTRACT },
      ...{ kind, poolId: POOL, account: ACCOUNT, amount: `${amount}` },
      ...{ blockNumber, logIndex, seq: blockNumber * MAX_PLACES + logIndex },
      ...fields,
    },
  };
}
const splitOf = (items: Item[], held: number): Item[] =>
  splitGains(items, new Map([[`${POOL} ${ACCOUNT}`, BigInt(held)]]), POOLS, RULES).items;
const shown = (items: Item[]): string[] =>
  items.map(({ event: { kind, amount, logIndex } }) => `${logIndex} ${kind} ${amount}`);
const SECOND = { logIndex: MAX_LOGS };

it.each([
  ['what is paid beyond the position', [event('Withdrawn', 15)], 10, ['0 Withdrawn 10', `${MAX_LOGS} YieldClaimed 5`]],
  ['all that is paid without a position', [event('Withdrawn', 15)], 0, ['0 YieldClaimed 15']],
  ['what is paid beyond what leaves it', [event('Withdrawn', 5, { remaining: '8' })], 10, ['0 Withdrawn 2', `${MAX_LOGS} YieldClaimed 3`]],
  ['all that is paid if more remains', [event('Withdrawn', 5, { remaining: '12' })], 10, ['0 YieldClaimed 5']],
  ['it with a claim of the same log', [event('Withdrawn', 15), event('YieldClaimed', 4, SECOND)], 10, ['0 Withdrawn 10', `${MAX_LOGS} YieldClaimed 9`]],
  ['it with an earlier claim of the same log', [event('YieldClaimed', 4), event('Withdrawn', 15, SECOND)], 10, ['0 YieldClaimed 9', `${MAX_LOGS} Withdrawn 10`]],
])('counts as yield %s', (_, items, held, expected) => {
  expect(shown(splitOf(items, held))).toEqual(expected);
}); // prettier-ignore

it('keeps the fee of the claim to which it adds', () => {
  const claim = event('YieldClaimed', 4, { ...SECOND, fee: '1' });
  expect(splitOf([event('Withdrawn', 15), claim], 10)[1].event).toEqual({ ...claim.event, amount: '9' });
});

it.each([
  ['a claim of another account', { account: `0x${'2'.repeat(40)}` }],
  ['a claim in another pool', { poolId: 'b'.repeat(32) }],
  ['an event of another kind', { kind: 'YieldAccrued', account: null }],
] as const)('leaves a withdrawal as it is if its log has %s', (_, fields) => {
  const first = event('Withdrawn', 15, { remaining: '8' });
  const items = [first, event('YieldClaimed', 4, { ...SECOND, ...fields })];
  // The position is empty then, whatever the event says remains.
  const next = event('Withdrawn', 3, { logIndex: 1 });
  expect(shown(splitOf([first, next, items[1]], 10))).toEqual([
    ...['0 Withdrawn 15', '1 YieldClaimed 3', shown(items)[1]],
  ]);
});

it.each([
  ['of what the position has', event('Withdrawn', 10)],
  ['of less than leaves the position', event('Withdrawn', 5, { remaining: '1' })],
  ['of a contract that numbers its events', event('Withdrawn', 15, { seq: 1 })],
  ['of a vault', event('Withdrawn', 15, { shares: '7' })],
  ['that waits', event('Withdrawn', 15, { blockNumber: 10 })],
  ["of another contract than the pool's", event('Withdrawn', 15, { contract: ACCOUNT })],
  ['that is the second event of its log', event('Withdrawn', 15, SECOND)],
])('leaves a withdrawal %s as it is', (_, item) => {
  const items = [item];
  expect(splitOf(items, 10)).toBe(items);
});

it('splits payments in the same way however events are batched, and only once', () => {
  const some = fc.record({
    kind: fc.constantFrom<('Deposited' | 'Withdrawn')[]>('Deposited', 'Withdrawn'),
    amount: fc.integer({ min: 1, max: 9 }),
    remaining: fc.constantFrom(null, '0', '3'),
  });
  fc.assert(
    fc.property(fc.array(some, { maxLength: 12 }), fc.nat(12), (all, cut) => {
      const items = all.map(({ kind, amount, remaining }, i) =>
        event(kind, amount, { blockNumber: 1, logIndex: i, ...(kind === 'Withdrawn' && { remaining }) }),
      );
      const held = new Map<string, bigint>();
      const whole = splitGains(items, new Map(), POOLS, RULES).items;
      const parts = [items.slice(0, cut), items.slice(cut)].flatMap(
        (part) => splitGains(part, held, POOLS, RULES).items,
      );
      expect(shown(parts).sort()).toEqual(shown(whole).sort());
      expect(splitGains(whole, new Map(), POOLS, RULES).gains).toBe(0);
      const sum = (list: Item[]): number =>
        list.reduce(
          (total, { event: { kind, amount } }) => total + (kind === 'Deposited' ? 0 : Number(amount)),
          0,
        );
      expect(sum(whole)).toBe(sum(items));
    }),
  );
});
