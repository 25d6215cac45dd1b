import { type AbiFunction, type Hex, encodeFunctionResult, parseAbiItem } from 'viem';
import { type Holding, questionsOf } from '#verify/contract/holdings';
import { amountOf, comparePoolsAtChain } from './chain';
import { Findings } from './findings';
import type { Look } from './look';

const AT_ONCE = 3;
const VAULT = `0x${'1a'.repeat(20)}`;
const REFERENCE = `0x${'1b'.repeat(20)}`;
const idOf = (n: number): string => `00000000-0000-7000-8000-00000000000${n}`;
const accountOf = (n: number): string => `0x${`${n}`.repeat(40)}`;
const ACCOUNTS = [1, 2, 3, 4].map(accountOf);
/** No question is about accounts of a vault. */
const POOLS = [
  { id: idOf(1), contract: VAULT, others: { name: '1', isNamed: true, balance: null, total: null } },
  { id: idOf(2), contract: REFERENCE, others: null },
  { id: idOf(3), contract: VAULT, others: { name: '2', isNamed: true, balance: null, total: null } },
];

it('requests the balances of all accounts, whichever other pools are in their batch', async () => {
  const asked = new Map<string, number>();
  // The two statements of the ledger, with their limits: one of pools, one of accounts of all pools together.
  const look = {
    column: (_text: string, after: string, limit: number) =>
      Promise.resolve(
        POOLS.map(({ id }) => id)
          .filter((id) => id > after)
          .slice(0, limit),
      ),
    rows: (_text: string, ids: string[], after: string, most: number): Promise<Holding[]> => {
      const pools = POOLS.filter(({ id }) => ids.includes(id));
      const loaded = pools
        .flatMap(({ id }) => ACCOUNTS.map((account) => `${id} ${account}`))
        .filter((place) => place > after)
        .slice(0, most);
      return Promise.resolve(
        pools.map((pool) => ({
          ...pool,
          ...{ cursorNumber: '9', cursorHash: '0x', block: '9', circle: false },
          total: pool.id > after ? '4' : null,
          holders: ACCOUNTS.filter((account) => loaded.includes(`${pool.id} ${account}`)).map((account) => ({
            ...{ account, amount: '1', position: null },
          })),
        })),
      );
    },
    findings: new Findings(10),
    mode: {
      values: AT_ONCE,
      signal: new AbortController().signal,
      chain: {
        ask: (calls: [string, [{ to: string; data: string }]][]) =>
          Promise.resolve(
            calls.map(([, [{ data }]]) => {
              asked.set(data, (asked.get(data) ?? 0) + 1);
              return data.length > 100 ? '0x1' : '0x4';
            }),
          ),
      },
    },
  } as unknown as Look;
  for (let after: string | null = ''; after !== null;)
    after = (await comparePoolsAtChain(look, after, POOLS.length)).last;
  // The total of the pool, and each account, once.
  expect([...asked.values()]).toEqual(Array<number>(1 + ACCOUNTS.length).fill(1));
});

describe('what a view of an adapter answers', () => {
  const holding = (balance: string): Holding => ({
    ...{ id: idOf(1), contract: VAULT, cursorNumber: '9', cursorHash: '0x', block: '9', circle: false },
    ...{ total: null, holders: [{ account: ACCOUNTS[0], amount: '5', position: null }] },
    others: { name: '1', isNamed: true, balance, total: null },
  });
  const answered = (balance: string, answer: Hex): bigint | string =>
    amountOf(answer, questionsOf(holding(balance))[0]);

  it.each([
    [
      'one of several values',
      'of(address account) returns (uint64 since, uint128 value, bool)',
      [3n, 7n, true],
    ],
    [
      'a component of a struct with text',
      'of(uint256 pool, address account) returns ((string name, uint256 value) member)',
      { name: 'x'.repeat(40), value: 7n },
    ],
    [
      'a component without a name beside it',
      'of(address account) returns ((address, (uint32 value, bool) inner) member)',
      [`0x${'1c'.repeat(20)}`, [7, true]],
    ],
  ])('is %s', (_, signature, result) => {
    const item = parseAbiItem(`function ${signature}`) as AbiFunction;
    const answer = encodeFunctionResult({ abi: [item], result } as never);
    expect(answered(signature, answer)).toBe(7n);
  });

  it('is not told by an answer of another form', () => {
    const word = '00'.repeat(31);
    const silent = `chain.balance of contract ${VAULT}: it does not tell`;
    expect(answered('of(address account)', `0x${word}07`)).toBe(7n);
    expect(answered('of(address account)', `0x${word}07${word}01`)).toBe(silent);
    expect(answered('of(address account) returns (bool, uint256 value)', `0x${word}07`)).toBe(silent);
  });
});
