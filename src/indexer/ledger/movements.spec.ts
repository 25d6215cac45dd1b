import fc from 'fast-check';
import { NO_FIELDS } from '../../../test/support/chain/adapters';
import { type Holding, type ShareEvent, type Vault, isShareKind, movementsOf, withFees } from './movements';

const [A, B] = ['a', 'b'].map((digit) => `0x${digit.repeat(40)}`);
const NOTHING = {
  ...{ ...NO_FIELDS, blockNumber: 7, blockHash: '0x', time: 1, txHash: '0x' },
  ...{ contract: `0x${'c'.repeat(40)}`, poolId: 'd'.repeat(32) },
};
type Step = [kind: ShareEvent['kind'], from: string, to: string, shares: bigint, amount?: bigint];

/** What some events in a row are, and what the accounts have then. */
function follow(steps: Step[], isPool = false) {
  const holdings = new Map<string, Holding>();
  const of = (account: string): Holding => {
    const holding = holdings.get(account) ?? { shares: 0n, cost: 0n };
    holdings.set(account, holding);
    return holding;
  };
  const vault: Vault = { isPool, holdingOf: of };
  const movements = steps.flatMap(([kind, poolName, account, shares, amount], logIndex) =>
    movementsOf(
      {
        ...NOTHING,
        ...{ kind, poolName, account, logIndex, seq: logIndex },
        shares: `${shares}`,
        amount: amount === undefined ? null : `${amount}`,
      },
      vault,
    ),
  );
  return { movements, of };
}
const trade =
  (kind: ShareEvent['kind']) =>
  (account: string, shares: bigint, amount: bigint): Step => [kind, account, account, shares, amount];
const [bought, sold] = [trade('SharesBought'), trade('SharesSold')];
const told = (steps: Step[]): string[] =>
  follow(steps).movements.map(({ kind, account, amount }) => `${kind} ${account?.[2]} ${amount}`);

describe('shares of a vault', () => {
  it('are paid out as what they have cost on the average, and as yield', () => {
    const steps = [bought(A, 100n, 100n), bought(A, 100n, 200n), sold(A, 50n, 110n), sold(A, 150n, 330n)];
    expect(told(steps)).toEqual([
      'Deposited a 100',
      'Deposited a 200',
      'Withdrawn a 75',
      'YieldClaimed a 35',
      'Withdrawn a 225',
      'YieldClaimed a 105',
    ]);
  });

  it('cost is rounded down, and the last shares take what is left', () => {
    const steps = [bought(A, 3n, 100n), sold(A, 1n, 40n), sold(A, 1n, 40n), sold(A, 1n, 40n)];
    expect(told(steps).slice(1)).toEqual([
      'Withdrawn a 33',
      'YieldClaimed a 7',
      'Withdrawn a 33',
      'YieldClaimed a 7',
      'Withdrawn a 34',
      'YieldClaimed a 6',
    ]);
  });

  it('that lost are made up for before any gain is yield', () => {
    const { movements, of } = follow([
      bought(A, 100n, 100n),
      sold(A, 50n, 25n),
      sold(A, 25n, 50n),
      sold(A, 25n, 50n),
    ]);
    expect(movements.slice(1).map(({ amount }) => amount)).toEqual(['25', '0', '37', '13', '38', '12']);
    expect(of(A)).toEqual({ shares: 0n, cost: 0n });
  });

  it('that are given away take what they have cost with them, to who gets them', () => {
    const { movements, of } = follow([bought(A, 100n, 130n), ['SharesMoved', A, B, 10n], sold(B, 10n, 20n)]);
    expect(
      movements
        .slice(1)
        .map(({ kind, account, poolName, amount, shares }) => [kind, account, poolName, amount, shares]),
    ).toEqual([
      ['Deposited', B, B, '13', '10'],
      ['Withdrawn', A, A, '13', '10'],
      ['Withdrawn', B, B, '13', '10'],
      ['YieldClaimed', B, B, '7', '0'],
    ]);
    // The two have pools and places of their own.
    expect(new Set(movements.map(({ logIndex }) => logIndex)).size).toBe(5);
    expect(movements[1].poolId).not.toBe(movements[2].poolId);
    expect(of(A)).toEqual({ shares: 90n, cost: 117n });
  });

  it('that are given away take no more cost than they are worth: nobody can give others a loss', () => {
    const { movements, of } = follow([
      bought(A, 500_000n, 500_000n),
      // At a hundredth of what they have cost.
      sold(A, 499_000n, 4990n),
      ['SharesMoved', A, B, 1000n],
    ]);
    expect(movements.slice(-2).map(({ kind, account, amount }) => [kind, account, amount])).toEqual([
      ['Deposited', B, '10'],
      ['Withdrawn', A, '10'],
    ]);
    expect([of(A), of(B)]).toEqual([
      { shares: 0n, cost: 500_000n - 4990n - 10n },
      { shares: 1000n, cost: 10n },
    ]);
    // A trade of a few units tells nothing of the price, whichever way it was rounded.
    const few = follow([
      bought(A, 500_000n, 500_000n),
      sold(B, 0n, 1n),
      bought(B, 1n, 1n),
      sold(A, 9n, 0n),
      ['SharesMoved', A, B, 1000n],
    ]);
    expect(few.movements.at(-1)!.amount).toBe('1000');
  });

  it('are not bought by who gets none for the money', () => {
    const { movements, of } = follow([bought(A, 0n, 9990n), bought(A, 10n, 0n)]);
    expect(movements.map(({ amount, shares }) => [amount, shares])).toEqual([['0', '10']]);
    expect(of(A)).toEqual({ shares: 10n, cost: 0n });
  });

  it('are all of the same pool where the vault is one', () => {
    const steps: Step[] = [
      bought(A, 100n, 130n),
      ['SharesMoved', A, B, 10n],
      sold(B, 10n, 20n),
      sold(B, 1n, 2n),
    ];
    const { movements } = follow(steps, true);
    const { contract } = NOTHING;
    expect(movements.map(({ kind, account, poolName }) => [kind, account, poolName])).toEqual([
      ['Deposited', A, contract],
      ['Deposited', B, contract],
      ['Withdrawn', A, contract],
      ['Withdrawn', B, contract],
      ['YieldClaimed', B, contract],
      // Of more than it has: only whose it was is known.
      ['SharesSold', B, B],
    ]);
    expect(new Set(movements.slice(0, 5).map(({ poolId }) => poolId)).size).toBe(1);
    expect(movements.map(({ amount }) => amount)).toEqual(
      follow(steps).movements.map(({ amount }) => amount),
    );
  });

  it('that their account is not known to have move nothing', () => {
    const steps: Step[] = [
      bought(A, 10n, 10n),
      sold(A, 11n, 20n),
      ['SharesMoved', B, A, 1n],
      sold(A, 10n, 12n),
    ];
    const { movements } = follow(steps);
    expect(movements.map(({ kind, amount }) => [kind, amount])).toEqual([
      ['Deposited', '10'],
      ['SharesSold', '20'],
      ['SharesMoved', null],
      ['Withdrawn', '10'],
      ['YieldClaimed', '2'],
    ]);
  });

  it('lose no unit: what is paid out is both parts, and a cost is what was paid in less what was taken out', () => {
    const amount = fc.bigInt({ min: 0n, max: 10n ** 30n });
    const account = fc.constantFrom(A, B);
    const step: fc.Arbitrary<Step> = fc.oneof(
      fc.tuple(account, amount, amount).map(([who, shares, paid]) => bought(who, shares, paid)),
      fc.tuple(account, amount, amount).map(([who, shares, paid]) => sold(who, shares, paid)),
      fc.tuple(account, amount).map(([who, shares]): Step => ['SharesMoved', who, who === A ? B : A, shares]),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { movements, of } = follow(steps);
        const sum = (...kinds: string[]): bigint =>
          movements
            .filter(({ kind }) => kinds.includes(kind))
            .reduce((total, { amount: each }) => total + BigInt(each ?? 0), 0n);
        const paidOut = steps
          .filter(
            ([kind], i) =>
              kind === 'SharesSold' && !movements.some((m) => m.logIndex === i && isShareKind(m.kind)),
          )
          .reduce((total, [, , , , each]) => total + each!, 0n);
        const paidIn = steps
          .filter(([kind]) => kind === 'SharesBought')
          .reduce((total, [, , , , each]) => total + each!, 0n);
        const held = of(A).cost + of(B).cost;
        const left = paidIn + sum('YieldClaimed') - paidOut;
        expect(held).toBe(left);
        for (const who of [A, B]) {
          expect(of(who).cost).toBeGreaterThanOrEqual(0n);
          expect(of(who).shares).toBeGreaterThanOrEqual(0n);
        }
      }),
    );
  });
});

describe('shares that a vault mints or burns', () => {
  const NOBODY = `0x${'0'.repeat(40)}`;
  const VAULT = NOTHING.contract;
  /** In one block by default. */
  const event = ([kind, poolName, account, shares, amount]: Step, blockNumber = 7): ShareEvent => ({
    ...{ ...NOTHING, kind, poolName, account, blockNumber, logIndex: 0, seq: 0 },
    ...{ shares: `${shares}`, amount: amount === undefined ? null : `${amount}` },
  });
  const made = (to: string, shares: bigint): Step => ['SharesMoved', NOBODY, to, shares];
  const ended = (from: string, shares: bigint): Step => ['SharesMoved', from, NOBODY, shares];
  const left = (...steps: Step[]): string[] =>
    withFees(steps.map((step) => event(step))).map(
      ({ kind, poolName, account, shares, amount }) =>
        `${kind} ${poolName?.[2]} ${account?.[2]} ${shares} ${amount}`,
    );

  it.each<[string, Step[], string[]]>([
    ['what was bought', [made(A, 5n), bought(A, 5n, 9n)], ['SharesBought a a 5 9']],
    ['what was sold', [ended(A, 5n), sold(A, 5n, 9n)], ['SharesSold a a 5 9']],
    ['bought for nothing', [made(A, 5n), bought(A, 5n, 0n)], ['SharesBought a a 5 0']],
    [
      'a fee of another',
      [made(B, 1n), made(A, 5n), bought(A, 5n, 9n)],
      ['SharesBought b b 1 0', 'SharesBought a a 5 9'],
    ],
    [
      'a fee of as many shares for their buyer',
      [made(A, 5n), made(A, 5n), bought(A, 5n, 9n)],
      ['SharesBought a a 5 0', 'SharesBought a a 5 9'],
    ],
    [
      'a fee that is sold before as many are bought',
      [made(A, 5n), ended(A, 5n), sold(A, 5n, 7n), made(A, 5n), bought(A, 5n, 9n)],
      ['SharesBought a a 5 0', 'SharesSold a a 5 7', 'SharesBought a a 5 9'],
    ],
    ['given up', [ended(A, 5n)], ['SharesSold a a 5 0']],
    ['nobody, where profits are locked', [made(VAULT, 5n), ended(VAULT, 5n)], []],
    ['what moves', [['SharesMoved', A, B, 5n]], ['SharesMoved a b 5 null']],
  ])('are %s', (_, steps, expected) => expect(left(...steps)).toEqual(expected));

  it('are a fee if the purchase is in another block', () =>
    expect(withFees([event(made(A, 5n)), event(bought(A, 5n, 9n), 8)])).toHaveLength(2));
});
