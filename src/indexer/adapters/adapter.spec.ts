import { Logger } from '@nestjs/common';
import { type Hex, encodeAbiParameters, encodeEventTopics, parseAbi } from 'viem';
import { POOL_TYPES } from '#values/types';
import { PoolContracts } from '#ledger/chain/chain.settings';
import type { Happening } from '#ledger/adapters/happening';
import { type EventOf, PoolContract, eventsOf } from '#ledger/adapters/pool-contract';
import { ReferencePool } from '#ledger/adapters/reference/reference-pool';
import { Vault as ERC4626, VaultPool } from '#ledger/adapters/vaults/vault';
import { outcomeOf } from '#indexer/ledger/decide';
import type { ChainEvent } from '#indexer/reading/decode';
import { adapterOf } from './adapter';
import { adaptersByAddress } from './contract-adapters';
import { decoderOf } from './decoder';

beforeAll(() => Logger.overrideLogger(false));

const abi = parseAbi([
  'event Paid(address indexed from, bytes16 pool, int256 sum, uint256 fee, uint64 number)',
  'event Renamed(string name, uint64 number)',
  'event Seen(address by)',
]);
const On = eventsOf(abi);
type Paid = EventOf<typeof abi, 'Paid'>;

/** What a method returns, by what the test wants of it. */
let returned: (paid: Paid) => Happening | Happening[];
const NAMED = { name: 'vault', types: ['cooperative', 'individual'], abi, numberedBy: 'number' } as const;

@PoolContract(NAMED)
class Vault {
  private readonly prefix = '0x';

  @On('Paid')
  paid(paid: Paid): Happening | Happening[] {
    return returned(paid);
  }

  @On('Renamed')
  renamed({ name }: EventOf<typeof abi, 'Renamed'>): Happening {
    return { kind: 'DrawClosed', drawId: BigInt(`${this.prefix}${name.length}`) };
  }
}

const CONTRACT = `0x${'c1'.repeat(20)}`;
const POOL = `0x${'a5'.repeat(16)}` as const;
const FROM = `0x${'5a'.repeat(20)}` as const;
const [PAID, RENAMED] = abi;
const place = {
  address: CONTRACT,
  blockNumber: '0x7',
  blockHash: '0xb',
  transactionHash: '0xc',
  logIndex: '0x0',
};
const paid = (sum: bigint, fee = 0n, number = 1n) => ({
  ...place,
  topics: encodeEventTopics({ abi: [PAID], args: { from: FROM } }) as Hex[],
  data: encodeAbiParameters(PAID.inputs.slice(1), [POOL, sum, fee, number] as never),
});
const decode = () => decoderOf(new Map([[CONTRACT, adapterOf(new Vault())!]]));

describe('an adapter', () => {
  it('says what its events mean, with arithmetic of its own', () => {
    returned = ({ from, pool, sum, fee }) => ({
      kind: 'Deposited',
      poolId: pool,
      account: from,
      amount: sum - fee,
    });
    expect(decode()(paid(100n, 3n, 9n), 60)).toMatchObject({
      kind: 'Deposited',
      ...{
        contract: CONTRACT,
        poolId: POOL.slice(2),
        account: FROM,
        amount: '97',
        ref: null,
        seq: 9,
        time: 60,
      },
    });
  });

  it('has a provider, which its methods may use, and may read events of dynamic types', () => {
    const log = {
      ...place,
      topics: encodeEventTopics({ abi: [RENAMED] }) as Hex[],
      data: encodeAbiParameters(RENAMED.inputs, ['ab', 2n]),
    };
    expect(decode()(log, 0)).toMatchObject({ kind: 'DrawClosed', drawId: '2', seq: 2 });
  });

  it('reads events of its own contracts alone', () => {
    const other = { ...paid(1n), address: `0x${'c2'.repeat(20)}` };
    expect(decode()(other, 0)).toBeUndefined();
  });

  const whole = { kind: 'Deposited', poolId: POOL, account: FROM, amount: 1n } as const;
  it.each<[string, () => unknown]>([
    ['throws', () => JSON.parse('no') as unknown],
    ['names neither pool nor draw', () => ({ ...whole, poolId: undefined })],
    ['names both', () => ({ ...whole, drawId: 1n })],
    ['has an id of another length', () => ({ ...whole, poolId: `${POOL}00` })],
    ['refers by another length', () => ({ ...whole, ref: '0x01' })],
    ['has an account of another length', () => ({ ...whole, account: '0x01' })],
    ['has an amount below zero', () => ({ ...whole, amount: -1n })],
    ['has an amount that is too large', () => ({ ...whole, amount: 10n ** 78n })],
    ['has a draw that is too large', () => ({ kind: 'DrawClosed', drawId: 10n ** 20n })],
    ['has a draw below zero', () => ({ kind: 'DrawClosed', drawId: -1n })],
  ])('that %s leaves the event without any field, for it to be set aside', (_, result) => {
    returned = result as typeof returned;
    const event = decode()(paid(1n), 0);
    const nothing = { poolId: null, drawId: null, ref: null, account: null, amount: null };
    expect(event).toMatchObject({ kind: 'Paid', seq: 1, ...nothing });
  });

  it('can return a kind that this version does not know, which is then set aside', () => {
    returned = () => ({ ...whole, kind: 'Moved' as never });
    expect(decode()(paid(1n), 0)).toMatchObject({
      kind: 'Moved',
      seq: 1,
      poolId: POOL.slice(2),
      amount: '1',
    });
  });

  describe('of contracts without numbers', () => {
    const { numberedBy: _, ...unnumbered } = NAMED;
    class Unnumbered extends Vault {}
    PoolContract(unnumbered)(Unnumbered);
    const read = (...happenings: Happening[]) => {
      returned = () => happenings;
      return decoderOf(new Map([[CONTRACT, adapterOf(new Unnumbered())!]]))(paid(1n), 0) as ChainEvent;
    };
    const at = (kind: 'Deposited' | 'Withdrawn' | 'YieldClaimed', amount = 5n): Happening =>
      ({ ...whole, kind, amount }) as Happening;

    it('can return two things, of which what is paid in comes first', () => {
      expect(read(at('Withdrawn'), at('YieldClaimed', 2n))).toMatchObject({
        ...{ kind: 'Withdrawn', amount: '5' },
        second: { kind: 'YieldClaimed', amount: '2', logIndex: 0 },
      });
      expect(read(at('YieldClaimed'), at('Deposited', 2n))).toMatchObject({
        ...{ kind: 'Deposited', amount: '2' },
        second: { kind: 'YieldClaimed', amount: '5' },
      });
    });

    it('leaves out of a list what is nothing', () => {
      const one = read(at('Withdrawn', 0n), at('YieldClaimed'));
      expect(one).toMatchObject({ kind: 'YieldClaimed', amount: '5' });
      expect(one).not.toHaveProperty('second');
      expect(read(at('Withdrawn', 0n), at('YieldClaimed', 0n))).toBeUndefined();
      expect(read()).toBeUndefined();
    });

    it('cannot return more, nor shares in a list, nor two that are paid in', () => {
      const moved = { kind: 'SharesMoved', holder: FROM, account: FROM, shares: 1n } as const;
      for (const list of [
        [at('Withdrawn'), at('YieldClaimed'), at('Deposited')],
        [moved, at('Deposited')],
        [at('Deposited'), at('Deposited', 2n)],
      ])
        expect(read(...list)).toMatchObject({ kind: 'Paid', poolId: null, amount: null });
    });
  });

  it('of a contract with numbers cannot return two things', () => {
    returned = () => [whole, { ...whole, kind: 'YieldClaimed' }];
    expect(decode()(paid(1n), 0)).toMatchObject({ kind: 'Paid', seq: 1, poolId: null, amount: null });
  });

  it('can return nothing: the ledger keeps the number of a numbered event', () => {
    returned = (() => undefined) as unknown as typeof returned;
    const event = decode()(paid(1n), 0) as ChainEvent;
    expect(event).toMatchObject({ kind: '(nothing)', seq: 1, poolId: null, account: null, amount: null });
    expect(outcomeOf({ event }, new Map(), { effective: 9, lotteries: new Set() })).toEqual({
      outcome: 'APPLIED',
    });
    const unnumbered = { ...adapterOf(new Vault())!.events.get(paid(1n).topics[0])!, numberedBy: undefined };
    const adapter = { ...adapterOf(new Vault())!, events: new Map([[paid(1n).topics[0], unnumbered]]) };
    expect(decoderOf(new Map([[CONTRACT, adapter]]))(paid(1n), 0)).toBeUndefined();
  });

  it('is compared as the class that defines its methods, not as a class of the same name', () => {
    class Ours extends ERC4626 {}
    class Others extends Ours {
      override transfer(): undefined {}
    }
    const adapters = [Vault, ERC4626, VaultPool, Ours, Others, ReferencePool].map((each) => new each());
    expect(adapters.map((each) => adapterOf(each)!.verifiedAs)).toEqual([
      ...['class Vault', 'Vault', 'Vault', 'Vault', 'class Others', 'ReferencePool'],
    ]);
  });

  it('is none without the decorator, and is refused when its decorators do not fit', () => {
    expect(adapterOf(new (class Other {})())).toBeUndefined();
    const options = { ...NAMED, name: undefined };
    const read = (name: 'Paid' | 'Renamed' | 'Seen') => (target: object) => {
      const method = (): Happening => whole;
      Object.defineProperty(target, name.toLowerCase(), { value: method, configurable: true });
      On(name)(target, name, { value: method });
    };
    const made = (given: object, ...names: Parameters<typeof read>[0][]): object => {
      class Made {}
      PoolContract({ ...options, ...given })(Made);
      for (const name of names) read(name)(Made.prototype);
      return new Made();
    };
    // Calls that it does not say are none, and not those of the reference contracts.
    expect(adapterOf(made({}, 'Paid', 'Renamed'))).toMatchObject({
      ...{ className: 'Made', types: NAMED.types, calls: {} },
    });
    expect(adapterOf(new ReferencePool())!.calls).toBeUndefined();
    for (const token of ['MUSD()', `0x${'A1'.repeat(20)}`, { symbol: 'BTC', decimals: 18 }])
      expect(adapterOf(made({ token }, 'Paid', 'Renamed'))).toMatchObject({ token });
    const both = ['Paid', 'Renamed'] as const;
    const refused: [message: string, given: object, ...names: Parameters<typeof read>[0][]][] = [
      ['Made: no method reads Renamed, so its number', {}, 'Paid'],
      ['Made.seen: Seen has no parameter number', {}, 'Paid', 'Renamed', 'Seen'],
      ['Made.paid: the ABI has 0 events Paid', { abi: [] }, 'Paid'],
      ['Made.paid: the ABI has 2 events Paid', { abi: [...abi, { ...PAID, inputs: [] }] }, 'Paid'],
      ['parameters without a name', { abi: [{ ...PAID, inputs: [{ type: 'bool' }] }] }, 'Paid'],
      [
        'takeOut(uint256 all) has the parameter all',
        { calls: { withdraw: 'takeOut(uint256 all)' } },
        ...both,
      ],
      ['Made: token: MUSD is no function', { token: 'MUSD' }, ...both],
      ['Made: token: of(uint256 pool) has parameters', { token: 'of(uint256 pool)' }, ...both],
      ['Made: token: "" is no symbol', { token: { symbol: '', decimals: 18 } }, ...both],
      ['Made: token: 256 are no decimals', { token: { symbol: 'BTC', decimals: 256 } }, ...both],
      ...(
        [
          [
            { total: 'of(address account)' },
            'Made: total: of(address account) has the parameter account: only pool',
          ],
          [
            { price: 'of(uint256 pool)' },
            'Made: price: of(uint256 pool) has the parameter pool: only amount',
          ],
          [
            { balance: 'of(address pool, address account)' },
            'Made: balance: of(address pool, address account) does not take pool, account',
          ],
          [{ balance: 'of(address)' }, 'Made: balance: of(address) has the parameter'],
          [{ balance: 'of(bytes16 pool)' }, 'Made: balance: of(bytes16 pool) has no parameter account'],
          [
            { balance: 'of(address account) returns (bool value)' },
            'must return one uint that is called value',
          ],
        ] as const
      ).map(([views, message]) => [message, { views }, ...both] as (typeof refused)[number]),
    ];
    for (const [message, ...given] of refused) expect(() => adapterOf(made(...given))).toThrow(message);
    const again = made({}, 'Paid', 'Renamed');
    Object.defineProperty(Object.getPrototypeOf(again), 'more', {
      value: (again as Record<string, unknown>).paid,
    });
    expect(() => adapterOf(again)).toThrow('another method reads Paid already');
  });
});

describe('a contract', () => {
  const [reference, vault] = [new ReferencePool(), new Vault()].map((each) => adapterOf(each)!);
  const address = (digit: number): string => `0x${`${digit}`.repeat(40)}`;
  const contracts = (named: Record<string, string> = {}): PoolContracts => {
    const made = new PoolContracts(POOL_TYPES.map((type, i) => [type, [address(i)]]));
    for (const [each, name] of Object.entries(named)) made.adapters.set(each, name);
    return made;
  };

  it('has the adapter without a name of its type, or the one that is named', () => {
    const found = adaptersByAddress(contracts({ [address(1)]: 'vault' }), [vault, reference]);
    expect([...found]).toEqual(POOL_TYPES.map((_, i) => [address(i), i === 1 ? vault : reference]));
  });

  it('may serve several types by one adapter, and not by two', () => {
    const both = contracts();
    both.set('lottery', [address(0), address(2)]);
    expect(adaptersByAddress(both, [reference]).get(address(0))).toBe(reference);
    const others = { ...reference, className: 'Lottery', types: ['lottery'] as const };
    const rest = { ...reference, types: POOL_TYPES.filter((type) => type !== 'lottery') };
    expect(() => adaptersByAddress(both, [rest, others])).toThrow(
      `POOL_CONTRACTS: lottery=${address(0)}: Lottery, but for another type ReferencePool`,
    );
  });

  it.each([
    [
      { [address(1)]: 'safe' },
      `POOL_CONTRACTS: cooperative:safe=${address(1)}: no such adapter for this type. Its names are: vault`,
    ],
    [
      { [address(2)]: 'vault' },
      `POOL_CONTRACTS: lottery:vault=${address(2)}: no such adapter for this type. Its names are: none`,
    ],
  ])('with a name that its type does not have ends the start: %j', (named, message) => {
    expect(() => adaptersByAddress(contracts(named), [reference, vault])).toThrow(message);
  });

  it('of a type that no adapter, or more than one, is for ends the start', () => {
    expect(() => adaptersByAddress(contracts(), [vault])).toThrow(
      `individual=${address(0)}: no such adapter`,
    );
    expect(() => adaptersByAddress(contracts(), [reference, reference])).toThrow(
      'ReferencePool or ReferencePool?',
    );
  });
});
