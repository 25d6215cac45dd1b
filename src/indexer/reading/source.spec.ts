import { Refused, RpcNode } from '../../../test/support/chain/rpc-node';
import { rpcEndpoints } from '#ledger/chain/endpoints';
import { NodeBehind } from './block-batch';
import { type Block, headerCall } from './raw-chain';
import { Rpc, RpcError } from './rpc';
import { Source } from './source';

const CONTRACT = `0x${'c'.repeat(40)}`;
const word = (n: number, branch = 0): string => `0x${(branch * 2 ** 32 + n).toString(16).padStart(64, '0')}`;
const header = (n: number, branch = 0): object => ({
  number: `0x${n.toString(16)}`,
  hash: word(n, branch),
  parentHash: word(n - 1),
  timestamp: `0x${n.toString(16)}`,
});
const START: Block = { number: 1, hash: word(1), parentHash: word(0), time: 1 };

interface Filter {
  blockHash?: string;
  fromBlock: string;
  toBlock: string;
}

describe('a source', () => {
  let node: RpcNode;
  let source: Source;
  /** The branch of block 3. */
  let branch: number;
  let logs: (filter: Filter) => unknown;
  beforeEach(async () => {
    branch = 0;
    logs = () => [];
    node = await RpcNode.start((method, [first]) => {
      if (method === 'eth_getBlockByNumber') return header(Number(first), first === '0x3' ? branch : 0);
      return method === 'eth_call' ? '0x0' : logs(first as Filter);
    });
    source = new Source(new Rpc(rpcEndpoints(node.url)[0]), [CONTRACT], () => undefined);
  });
  afterEach(() => node.stop());

  it('asks little of an endpoint that begins to refuse all logs, and goes on when it answers again', async () => {
    logs = () => new Refused('internal error', -32603);
    source.range.blocks = 10_000;
    await expect(source.read(START, 1_000_000)).rejects.toThrow(RpcError);
    expect(node.calls.length).toBeLessThan(2000);
    logs = () => [];
    let at = START;
    for (let i = 0; i < 60; i += 1) at = (await source.read(at, 1_000_000)).to;
    expect([source.range.blocks, source.range.span]).toEqual([10_000, 10_000]);
  });

  it('reads a range in requests that one node answers when calls have to be smaller', async () => {
    logs = ({ fromBlock, toBlock }) =>
      Number(toBlock) - Number(fromBlock) < 5 ? [] : new Refused('narrow your filter', -32000);
    source.range.blocks = 10_000;
    expect((await source.read(START, 1_000_000)).to.number).toBe(10_001);
    const asks = (method: string): unknown[] =>
      node.requests.filter((calls) => calls.some((call) => call.method === method));
    // The state of the last block shows that the node which sent the logs has all blocks.
    expect(asks('eth_getLogs')).toEqual(asks('eth_call'));
  });

  describe('near the head of an endpoint that takes no batches', () => {
    beforeEach(async () => {
      node.faults = { maxBatch: 1 };
      await source.rpc.settled([headerCall(0), headerCall(1)]);
      node.requests = [];
    });
    const pins = (): unknown[] =>
      node.calls.flatMap(({ method, params: [filter] }) =>
        method === 'eth_getLogs' ? ((filter as Filter).blockHash ?? 'numbers') : [],
      );

    it('asks for logs by block hash', async () => {
      expect((await source.read(START, 3)).to.hash).toBe(word(3));
      expect(pins()).toEqual([word(2), word(3)]);
    });

    it('asks for logs by number where hashes are refused', async () => {
      logs = ({ blockHash }) => (blockHash ? new Refused('invalid params', -32602) : []);
      expect((await source.read(START, 3)).to.hash).toBe(word(3));
      expect(pins()).toEqual([word(2), word(3), 'numbers']);
    });

    it('reads no blocks of a chain that changes meanwhile', async () => {
      logs = () => {
        branch = 1;
        return [];
      };
      await expect(source.read(START, 3)).rejects.toThrow(
        new NodeBehind('block 3 changed while it was read'),
      );
    });
  });
});
