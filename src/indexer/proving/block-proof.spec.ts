import { Logger } from '@nestjs/common';
import { getAbiItem } from 'viem';
import { contractAbi } from '#ledger/chain/contract.abi';
import type { IndexerSettings } from '#settings/indexer.settings';
import type { ContractAdapters } from '#indexer/adapters/contract-adapters';
import type { Reading, RpcEndpoints } from '#indexer/agreement/rpc-endpoints';
import { WrongEvents } from '#indexer/reading/block-batch';
import type { ChainEvent } from '#indexer/reading/decode';
import { MalformedAnswer } from '#indexer/reading/raw-chain';
import { RpcError, RpcUnavailable } from '#indexer/reading/rpc';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { decoderFor, encoded } from '../../../test/support/chain/adapters';
import mainnet from '../../../test/vectors/mainnet-23535880.json';
import { BlockProof } from './block-proof';
import { type RawHeader, headerHash } from './header';
import { EMPTY_ROOT, type RawReceipt, eventsOf, receiptsRoot } from './receipts-root';

const CONTRACT = `0x${'c1'.repeat(20)}`;
const OTHER = `0x${'c2'.repeat(20)}`;
const NO_BLOOM = `0x${'0'.repeat(512)}`;
const FULL_BLOOM = `0x${'f'.repeat(512)}`;
const LASTING_S = 60;
const decode = decoderFor([CONTRACT, OTHER]);

const deposited = getAbiItem({ abi: contractAbi, name: 'Deposited' });
const account = `0x${'5a'.repeat(20)}` as const;
const none = `0x${'0'.repeat(32)}` as const;
const logOf = (address: string, amount: bigint) => ({
  address,
  ...encoded(deposited, { poolId: none, ref: none, account, amount, seq: 1n }),
});
const receiptOf = (index: number, logs: RawReceipt['logs']): RawReceipt => ({
  type: '0x2',
  status: '0x1',
  cumulativeGasUsed: `0x${(21_000 * (index + 1)).toString(16)}`,
  logsBloom: FULL_BLOOM,
  logs,
  transactionHash: `0x${index.toString(16).padStart(64, 'a')}`,
  transactionIndex: `0x${index.toString(16)}`,
});

interface Scene {
  header: RawHeader;
  receipts: RawReceipt[];
  events: ChainEvent[];
}

/** A block of a chain whose headers may have any bloom. */
async function block(logs: RawReceipt['logs'][], logsBloom: string): Promise<Scene> {
  const receipts = logs.map((own, i) => receiptOf(i, own));
  const header: RawHeader = { ...mainnet, logsBloom, receiptsRoot: await receiptsRoot(receipts) };
  header.transactions = receipts.map(({ transactionHash }) => transactionHash);
  header.hash = headerHash(header);
  return { header, receipts, events: eventsOf(CONTRACT, header, { receipts, outside: '' }, decode) };
}

type Answer = (method: string, index: number) => unknown;

describe('the proof of a block', () => {
  let now: number;
  let asked: string[];
  let answers: Answer[];
  let proof: BlockProof;
  const endpoint = (i: number): WatchedEndpoint =>
    ({
      name: `host${i}`,
      heard: true,
      source: {
        rpc: {
          settled: (calls: [string, unknown[]][]) => {
            asked.push(...calls.map(([method]) => `${i} ${method}`));
            return Promise.resolve(calls.map(([method], index) => answers[i](method, index)));
          },
        },
      },
    }) as unknown as WatchedEndpoint;
  let all: WatchedEndpoint[];

  beforeEach(() => {
    Logger.overrideLogger(false);
    now = 1_000_000;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    asked = [];
    answers = [];
    all = [endpoint(0), endpoint(1)];
    const settings = { QUARANTINE_AFTER: LASTING_S } as IndexerSettings;
    proof = new BlockProof({ all } as unknown as RpcEndpoints, settings, {
      decode,
      of: () => undefined,
    } as unknown as ContractAdapters);
  });
  afterEach(() => jest.restoreAllMocks());

  /** All of a block's receipts, at once. */
  const gives =
    (receipts: unknown): Answer =>
    () =>
      receipts;
  const refuses: Answer = (method) => new RpcError(method, -32601, 'not here');
  const reading = (header: RawHeader, events: ChainEvent[], count: number | null = null): Reading => ({
    reader: all[0],
    batch: {
      to: { number: Number(header.number), hash: String(header.hash), parentHash: '', time: 0 },
      blocks: [],
      headers: [header] as unknown as Reading['batch']['headers'],
      events,
      contracts: [CONTRACT],
      counts: [count],
    },
    testimonies: [],
    isAside: false,
    asked: 0,
    marks: {},
  });
  const prove = async (header: RawHeader, events: ChainEvent[]): Promise<string[]> => [
    ...((await proof.prove(reading(header, events))).proven ?? []),
  ];

  it('by a bloom asks for nothing', async () => {
    const { header } = await block([[logOf(OTHER, 1n)]], `${NO_BLOOM.slice(0, -1)}1`);
    expect(await prove(header, [])).toEqual([CONTRACT]);
    expect(asked).toEqual([]);
    expect(proof.standingOf(CONTRACT)).toEqual({ completeness: 'receipts' });
  });

  it('of a contract that numbers its events is left to the numbers', async () => {
    const { header, events } = await block([[logOf(CONTRACT, 1n)]], FULL_BLOOM);
    expect((await proof.prove(reading({ ...header, hash: '0x' }, events, 1))).proven).toBeUndefined();
    expect(proof.standingOf(CONTRACT)).toEqual({ completeness: 'numbers' });
  });

  it('by receipts has the events of this contract alone, in any transaction', async () => {
    const logs = [[logOf(OTHER, 1n)], [], [logOf(OTHER, 2n), logOf(CONTRACT, 3n)], [logOf(CONTRACT, 4n)]];
    const { header, receipts, events } = await block(logs, FULL_BLOOM);
    answers = [gives(receipts)];
    expect(events.map(({ amount, logIndex }) => [amount, logIndex])).toEqual([
      ['3', 2],
      ['4', 3],
    ]);
    expect(await prove(header, events)).toEqual([CONTRACT]);
    await expect(prove(header, events.slice(1))).rejects.toThrow(WrongEvents);
    await expect(prove(header, [...events, events[0]])).rejects.toThrow('are not those of the receipts');
    await expect(prove(header, [])).rejects.toThrow('are left out');
    const other = events.map((event) => ({ ...event, amount: '5' }));
    await expect(prove(header, other)).rejects.toThrow(WrongEvents);
  });

  it.each([
    ['by transaction', [1, 0]],
    ['from 1', [3, 4]],
  ])('has the order of the receipts where the reader counts logs %s', async (_, indexes) => {
    const logs = [[logOf(OTHER, 1n)], [], [logOf(OTHER, 2n), logOf(CONTRACT, 3n)], [logOf(CONTRACT, 4n)]];
    const { header, receipts, events } = await block(logs, FULL_BLOOM);
    answers = [gives(receipts)];
    const other = events.map((event, i) => ({ ...event, logIndex: indexes[i], seq: 100 + indexes[i] }));
    for (const given of [other, [...other].reverse()])
      expect((await proof.prove(reading(header, given))).batch.events).toEqual(events);
  });

  it('asks for receipts one by one where an endpoint has no other way', async () => {
    const { header, receipts, events } = await block([[logOf(CONTRACT, 1n)], []], FULL_BLOOM);
    answers = [(method, i) => (method === 'eth_getBlockReceipts' ? refuses(method, i) : receipts[i])];
    expect(await prove(header, events)).toEqual([CONTRACT]);
    expect(await prove(header, events)).toEqual([CONTRACT]);
    const singly = ['0 eth_getTransactionReceipt', '0 eth_getTransactionReceipt'];
    expect(asked).toEqual(['0 eth_getBlockReceipts', ...singly, ...singly]);
  });

  it.each([
    ['not whole', (_method: string, receipts: RawReceipt[]) => receipts.slice(1)],
    ['too large', (method: string) => new RpcError(method, 0, 'answer of more than 1 bytes')],
    [
      'too slow',
      () => {
        throw new RpcUnavailable('timeout');
      },
    ],
  ])(
    'asks for receipts one by one if the list of a block is %s, and asks for the list of the next block',
    async (_, refuse) => {
      const { header, receipts, events } = await block([[logOf(CONTRACT, 1n)], []], FULL_BLOOM);
      answers = [(method, i) => (method === 'eth_getBlockReceipts' ? refuse(method, receipts) : receipts[i])];
      for (let n = 0; n < 2; n += 1) expect(await prove(header, events)).toEqual([CONTRACT]);
      expect(asked.filter((call) => call === '0 eth_getBlockReceipts')).toHaveLength(2);
    },
  );

  it('takes the receipts of any endpoint', async () => {
    const { header, receipts, events } = await block([[logOf(CONTRACT, 1n)], []], FULL_BLOOM);
    for (const liar of [refuses, gives(null), gives([]), gives(receipts.slice(1))]) {
      answers = [liar, gives(receipts)];
      expect(await prove(header, events)).toEqual([CONTRACT]);
    }
  });

  it('is none where nobody shows receipts, which is told', async () => {
    const { header, events } = await block([[logOf(CONTRACT, 1n)]], FULL_BLOOM);
    answers = [refuses, refuses];
    expect(await prove(header, events)).toEqual([]);
    expect(proof.standingOf(CONTRACT)).toMatchObject({ completeness: 'agreement' });
  });

  it('is none by receipts that were never of the root; after a proof they are refused', async () => {
    const { header, receipts, events } = await block([[logOf(CONTRACT, 1n)], []], FULL_BLOOM);
    answers = [gives(receipts.slice(1)), gives(receipts.slice(1))];
    expect(await prove(header, events)).toEqual([]);
    answers = [gives(receipts)];
    await prove(header, events);
    answers = [gives(receipts.slice(1)), refuses];
    await expect(prove(header, events)).rejects.toThrow(MalformedAnswer);
  });

  it('reads the receipts of each block on a chain without blooms', async () => {
    const { header, receipts, events } = await block([[logOf(CONTRACT, 1n)]], NO_BLOOM);
    answers = [gives(receipts)];
    await expect(prove(header, [])).rejects.toThrow('are left out');
    expect(await prove(header, events)).toEqual([CONTRACT]);
    const empty = await block([], NO_BLOOM);
    expect(empty.header.receiptsRoot).toBe(EMPTY_ROOT);
    asked = [];
    expect(await prove(empty.header, [])).toEqual([CONTRACT]);
    expect(asked).toEqual([]);
  });

  it('believes no bloom any more after one that left out logs', async () => {
    const few = `${NO_BLOOM.slice(0, -1)}1`;
    const { header, receipts, events } = await block([[logOf(CONTRACT, 1n)]], few);
    answers = [gives(receipts)];
    expect(await prove(header, events)).toEqual([CONTRACT]);
    await expect(prove(header, [])).rejects.toThrow('are left out');
  });

  it('refuses events that a bloom excludes and receipts do not have', async () => {
    const { header, receipts } = await block([[logOf(OTHER, 1n)]], `${NO_BLOOM.slice(0, -1)}1`);
    const made = await block([[logOf(CONTRACT, 1n)]], FULL_BLOOM);
    answers = [gives(receipts)];
    await expect(prove(header, made.events)).rejects.toThrow('are not those of the receipts');
  });

  it('is none where headers have a hash of their own; where they had that of their fields, others are refused', async () => {
    const { header } = await block([], NO_BLOOM);
    const altered = { ...header, logsBloom: FULL_BLOOM };
    expect(await prove(altered, [])).toEqual([]);
    expect(proof.standingOf(CONTRACT)?.unproven).toContain('fields of their own');
    expect(await prove(header, [])).toEqual([CONTRACT]);
    await expect(prove(altered, [])).rejects.toThrow(MalformedAnswer);
  });

  it('goes on without proofs after a hard fork that changes headers', async () => {
    const { header } = await block([], NO_BLOOM);
    const altered = { ...header, logsBloom: FULL_BLOOM };
    await prove(header, []);
    for (let tries = 0; tries < 6; tries += 1) {
      now += 1000;
      await expect(prove(altered, [])).rejects.toThrow(MalformedAnswer);
    }
    now += LASTING_S * 1000;
    expect(await prove(altered, [])).toEqual([]);
    expect(proof.standingOf(CONTRACT)).toMatchObject({ completeness: 'agreement' });
  });
});
