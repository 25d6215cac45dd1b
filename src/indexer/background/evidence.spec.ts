import { RpcError, RpcUnavailable } from '#indexer/reading/rpc';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { type Submission, type Testimony, ask, judge } from './evidence';

const word = (n: number): string => `0x${n.toString(16).padStart(64, '0')}`;
const HASH = word(7);
const SENDER = `0x${'5a'.repeat(20)}`;
const APPLIED = 200;
const chain = { applied: APPLIED, hash: word(APPLIED), final: 150 };
const header = (number: number, hash = word(number)): object => ({
  number: `0x${number.toString(16)}`,
  hash,
  parentHash: word(number - 1),
  timestamp: '0x1',
});
const told: Submission = { id: 'x', hash: HASH, sender: null, nonce: null };
const shown: Submission = { ...told, sender: SENDER, nonce: 5 };

/** An endpoint that answers each method so; not the others. */
const endpoint = (answers: Record<string, unknown>): WatchedEndpoint =>
  ({
    source: {
      rpc: {
        settled: (calls: [string][]) =>
          answers.fails instanceof Error
            ? Promise.reject(answers.fails)
            : Promise.resolve(
                calls.map(([name]) =>
                  name in answers ? answers[name] : name === 'eth_getBlockByNumber' ? header(APPLIED) : null,
                ),
              ),
      },
    },
  }) as unknown as WatchedEndpoint;
const says = async (answers: Record<string, unknown>, submission = told): Promise<unknown> =>
  (await ask(endpoint(answers), [submission], chain))[0];

const receipt = (number: number, status: string): Record<string, unknown> => ({
  eth_getTransactionReceipt: { blockNumber: `0x${number.toString(16)}`, blockHash: word(number), status },
  eth_getTransactionByHash: { from: SENDER, nonce: '0x5' },
});
const open = { says: 'open', sender: null, nonce: null };
const seen = { says: 'open', sender: SENDER, nonce: 5 };

describe('what an endpoint says of a hash that was told', () => {
  it.each([
    ['failed in a final block', receipt(150, '0x0'), { says: 'over' }],
    ['did something else there', receipt(150, '0x1'), { says: 'over' }],
    ['failed in a block that is not final', receipt(151, '0x0'), seen],
    ['is in a block that the ledger has yet to apply', receipt(201, '0x0'), seen],
    ['is in no block that there could be', { eth_getTransactionReceipt: { blockNumber: 'x' } }, open],
    [
      'waits',
      { eth_getTransactionByHash: { from: SENDER.toUpperCase().replace('0X', '0x'), nonce: '0x5' } },
      seen,
    ],
    ['waits, of nobody', { eth_getTransactionByHash: { from: 7, nonce: '0x5' } }, open],
    ['waits, in no place', { eth_getTransactionByHash: { from: SENDER, nonce: -1 } }, open],
    ['is unknown', {}, { says: 'unknown' }],
    ['is refused', { eth_getTransactionReceipt: new RpcError('x', 1, 'no') }, undefined],
    ['is not answered', { fails: new RpcUnavailable('down') }, undefined],
    ['is of another branch', { eth_getBlockByNumber: header(APPLIED, word(1)) }, undefined],
    ['is of a chain that has no such block', { eth_getBlockByNumber: null }, undefined],
    ['is of a node with invalid blocks', { eth_getBlockByNumber: {} }, undefined],
  ] as [string, Record<string, unknown>, unknown][])('it %s', async (_, answers, wanted) =>
    expect(await says(answers)).toEqual(wanted),
  );

  it.each([
    ['another has its place', '0x6', { says: 'over' }],
    ['its place is free', '0x5', { says: 'unknown' }],
    ['nonsense', 'x', { says: 'unknown' }],
    ['nothing', new RpcError('x', 1, 'no state'), { says: 'unknown' }],
  ])('of an unknown one whose sender is known: %s', async (_, count, wanted) =>
    expect(await says({ eth_getTransactionCount: count }, shown)).toEqual(wanted),
  );

  it('asks whether it has the last block, and for the nonce in the final one, in one request', async () => {
    const asked: unknown[] = [];
    const rpc = {
      settled: (calls: unknown[]) => (asked.push(...calls), Promise.resolve(calls.map(() => null))),
    };
    await ask({ source: { rpc } } as unknown as WatchedEndpoint, [shown, told], chain);
    expect(asked).toEqual([
      ['eth_getBlockByNumber', ['0xc8', false]],
      ['eth_getTransactionReceipt', [HASH]],
      ['eth_getTransactionByHash', [HASH]],
      ['eth_getTransactionCount', [SENDER, '0x96']],
      ['eth_getTransactionReceipt', [HASH]],
      ['eth_getTransactionByHash', [HASH]],
    ]);
  });
});

describe('several endpoints', () => {
  const over: Testimony = { says: 'over' };
  const unknown: Testimony = { says: 'unknown' };
  const has = (nonce: number | null): Testimony => ({
    says: 'open',
    sender: nonce === null ? null : SENDER,
    nonce,
  });
  const none = undefined;

  it.each<[(Testimony | undefined)[], number, unknown]>([
    [[over], 1, { verdict: 'over' }],
    [[over, unknown], 1, { verdict: 'undecided' }],
    [[over, over, unknown], 1, { verdict: 'over' }],
    [[over, over, has(5)], 1, { verdict: 'over' }],
    [[over, has(5)], 1, { verdict: 'open', sender: null, nonce: null }],
    // One that lies can only have us wait.
    [[over, unknown, unknown], 1, { verdict: 'undecided' }],
    [[over, none, none], 1, { verdict: 'over' }],
    [[over, none], 2, { verdict: 'undecided' }],
    [[unknown, unknown], 1, { verdict: 'unknown' }],
    [[unknown, none], 2, { verdict: 'undecided' }],
    [[none], 1, { verdict: 'undecided' }],
    [[], 1, { verdict: 'undecided' }],
    // A node may be alone in having it, but its word for sender and nonce does not do.
    [[unknown, has(5), unknown], 1, { verdict: 'open', sender: null, nonce: null }],
    [[has(5), has(5), unknown], 1, { verdict: 'open', sender: SENDER, nonce: 5 }],
    [[has(5), has(6)], 1, { verdict: 'open', sender: null, nonce: null }],
    [[has(null), has(null)], 1, { verdict: 'open', sender: null, nonce: null }],
    [[has(5)], 1, { verdict: 'open', sender: SENDER, nonce: 5 }],
  ])('%j, of which %i have to agree', (testimonies, agree, wanted) =>
    expect(judge(testimonies, agree)).toEqual(wanted),
  );
});
