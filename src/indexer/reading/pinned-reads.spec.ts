import { Hashes } from './hashes';
import { NodeBehind } from './block-batch';
import { PinnedReads } from './pinned-reads';
import type { Block } from './raw-chain';
import { type Call, RpcError } from './rpc';

const hash = (n: number, branch = 0): string => `0x${(n + branch * 1000).toString(16).padStart(64, '0')}`;
const block = (number: number): Block => ({
  number,
  hash: hash(number),
  parentHash: hash(number - 1),
  time: 0,
});
const BLOCKS = [7, 8, 9].map(block);
const CONTRACTS = ['0xa', '0xb'];

interface Params {
  blockHash?: string;
  toBlock?: string;
}

/** A node that may refuse block hashes, and have another branch after so many requests. */
class Node {
  refuses: ('eth_getLogs' | 'eth_call')[] = [];
  lacks = false;
  otherBranchAfter = Infinity;
  readonly asked: string[][] = [];

  readonly ask = (calls: Call[]): Promise<unknown[]> => {
    const isOther = this.asked.length >= this.otherBranchAfter;
    this.asked.push(calls.map((call) => (pinOf(call).blockHash ? `${call[0]} by hash` : call[0])));
    return Promise.resolve(calls.map((call) => this.answer(call, isOther)));
  };

  private answer(call: Call, isOther: boolean): unknown {
    const [method] = call;
    const { blockHash } = pinOf(call);
    if (this.lacks) return new RpcError(method, -32000, 'unknown block');
    if (blockHash && this.refuses.some((each) => each === method))
      return new RpcError(method, -32602, 'invalid params');
    if (method === 'eth_call') return '0x5';
    if (method === 'eth_getLogs') return blockHash ? [{ of: blockHash }] : [{ of: 'range' }];
    return { ...block(9), number: '0x9', timestamp: '0x0', hash: hash(9, Number(isOther)) };
  }
}
const pinOf = ([method, params]: Call): Params => {
  const [filter, pin] = params as [Params, Params];
  return method === 'eth_call' ? pin : filter;
};

describe('logs and counts of known blocks', () => {
  let node: Node;
  let reads: PinnedReads;
  beforeEach(() => {
    jest.useFakeTimers();
    node = new Node();
    reads = new PinnedReads(node.ask, new Hashes(), CONTRACTS);
  });
  afterEach(() => void jest.useRealTimers());

  const BY_HASH = [
    ...Array<string>(3).fill('eth_getLogs by hash'),
    ...Array<string>(2).fill('eth_call by hash'),
  ];
  const BY_NUMBER = ['eth_getLogs', 'eth_call', 'eth_call'];
  const HEADER = ['eth_getBlockByNumber'];

  it('are asked for by block hash', async () => {
    const { logs, counts } = await reads.read(BLOCKS);
    expect([logs, counts]).toEqual([BLOCKS.map(({ hash: of }) => ({ of })), [5, 5]]);
    expect(node.asked).toEqual([BY_HASH]);
  });

  it('are asked for by number where hashes are refused, with the last header afterwards, from then on', async () => {
    node.refuses = ['eth_getLogs', 'eth_call'];
    const found = { logs: [{ of: 'range' }], counts: [5, 5] };
    expect(await reads.read(BLOCKS)).toMatchObject(found);
    expect(node.asked.splice(0)).toEqual([BY_HASH, BY_NUMBER, HEADER]);
    expect(await reads.read(BLOCKS)).toMatchObject(found);
    expect(node.asked).toEqual([BY_NUMBER, HEADER]);
  });

  it('are asked for by hash as far as these are taken', async () => {
    node.refuses = ['eth_call'];
    await reads.read(BLOCKS);
    node.asked.splice(0);
    expect((await reads.read(BLOCKS)).logs).toHaveLength(3);
    expect(node.asked).toEqual([[...BY_HASH.slice(0, 3), 'eth_call', 'eth_call'], HEADER]);
  });

  it('are not those of a chain that changed while they were read', async () => {
    node.refuses = ['eth_call'];
    node.otherBranchAfter = 2;
    await expect(reads.read(BLOCKS)).rejects.toThrow(NodeBehind);
  });

  it('are asked for by hash again after a minute, and after longer when that is refused again', async () => {
    node.refuses = ['eth_getLogs', 'eth_call'];
    const triesHashes = async (afterMs: number): Promise<boolean> => {
      jest.advanceTimersByTime(afterMs);
      node.asked.splice(0);
      await reads.read(BLOCKS);
      return node.asked[0][0] === BY_HASH[0];
    };
    expect(await triesHashes(0)).toBe(true);
    expect(await triesHashes(59_000)).toBe(false);
    expect(await triesHashes(1_000)).toBe(true);
    expect(await triesHashes(60_000)).toBe(false);
    node.refuses = [];
    expect(await triesHashes(60_000)).toBe(true);
    expect(await triesHashes(0)).toBe(true);
  });

  it('say nothing about hashes when the node lacks the blocks', async () => {
    node.lacks = true;
    await expect(reads.read(BLOCKS)).rejects.toThrow(NodeBehind);
    node.lacks = false;
    node.asked.splice(0);
    await reads.read(BLOCKS);
    expect(node.asked).toEqual([BY_HASH]);
  });
});
