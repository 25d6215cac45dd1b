import { toFunctionSelector } from 'viem';
import { until } from '../../support/app';
import { type ChainBench, type IndexerProcess, useChain } from '../../support/chain/chain-bench';
import type { Faults, RpcNode } from '../../support/chain/rpc-node';

const SEQ = toFunctionSelector('function seq()');

/** Contracts that do not say how many events they have. */
const unnumbered: NonNullable<Faults['result']> = (method, result, [call]) =>
  method === 'eth_call' && (call as { data: string }).data === SEQ ? '0x' : result;

/** A node of such contracts, with faults of its own. */
function lie(proxy: RpcNode, { result, ...faults }: Faults = {}): void {
  proxy.faults = {
    ...faults,
    result: (method, found, params) => {
      const answer = unnumbered(method, found, params);
      return result ? result(method, answer, params) : answer;
    },
  };
}

const says = (indexer: IndexerProcess, text: string, times = 1): Promise<unknown> =>
  until(() => indexer.output.split(text).length > times);

/** Blocks that are proven, of any contract. */
const proven = (bench: ChainBench): Promise<{ from: number; to: number }[]> =>
  bench.sql('SELECT DISTINCT from_number::int AS from, to_number::int AS to FROM chain_proofs ORDER BY 1');

describe('contracts that do not number their events', () => {
  const bench = useChain();
  let indexer: IndexerProcess;

  beforeEach(async () => {
    lie(bench.proxy);
    indexer = bench.indexer();
    await bench.deposit(bench.pools[0], 5n);
    await bench.converged();
  });
  afterEach(async () => {
    lie(bench.proxy);
    await bench.converged();
    await indexer.end();
  });

  it('are proven block by block, by blooms and receipts', async () => {
    await bench.deposit(bench.pools[1], 6n);
    await bench.mine(5);
    await bench.converged();
    expect((await proven(bench)).at(-1)?.to).toBe((await bench.cursor())!.number);
  });

  it('are proven anew in place of blocks that a reorganisation took', async () => {
    await bench.mine(3);
    await bench.converged();
    await bench.rpc('anvil_reorg', 3, []);
    await bench.deposit(bench.pools[1], 8n);
    await bench.converged();
    const [{ over }] = await bench.sql<{ over: number }>(
      'SELECT count(*)::int AS over FROM chain_proofs p, chain_cursor c WHERE p.to_number > c.block_number',
    );
    expect(over).toBe(0);
  });

  it.each<[string, Faults, string]>([
    ['one log', { logs: (logs) => logs.slice(0, -1) }, 'are left out in block'],
    [
      'a log and its receipt',
      {
        logs: () => [],
        result: (method, result) =>
          method === 'eth_getBlockReceipts' && Array.isArray(result) ? result.slice(0, -1) : result,
        refuse: (method) => method === 'eth_getTransactionReceipt',
      },
      'are not all of it',
    ],
  ])('are not read from a node that leaves out %s', async (_, faults, text) => {
    const before = await bench.sql('SELECT FROM chain_events');
    lie(bench.proxy, faults);
    const { blockNumber } = await bench.deposit(bench.pools[0], 77n);
    await says(indexer, text, 2);
    expect((await bench.cursor())!.number).toBeLessThan(Number(blockNumber));
    expect((await bench.cursor())!.state).not.toBe('synced');
    expect(await bench.sql('SELECT FROM chain_events')).toHaveLength(before.length);
  });
});

describe('of two endpoints, about contracts that do not number their events', () => {
  const bench = useChain(2);
  let indexer: IndexerProcess;

  beforeAll(async () => {
    for (const proxy of bench.proxies) lie(proxy);
    indexer = bench.indexer();
    await bench.deposit(bench.pools[0], 5n);
    await bench.converged();
  });
  afterAll(() => indexer.end());

  it('another one shows the receipts that the reader hides', async () => {
    for (const proxy of bench.proxies)
      lie(proxy, { refuse: (method) => proxy === bench.proxies[0] && /Receipt/.test(method) });
    await bench.deposit(bench.pools[0], 7n);
    await bench.converged();
    expect((await proven(bench)).at(-1)?.to).toBe((await bench.cursor())!.number);
    for (const proxy of bench.proxies) lie(proxy);
  });

  it.each([0, 1])('one that counts logs from 1 agrees with the other: number %s', async (other) => {
    const logs: Faults['logs'] = (found) =>
      found.map((log) => ({ ...log, logIndex: `0x${(Number(log.logIndex) + 1).toString(16)}` }));
    lie(bench.proxies[other], { logs });
    const { blockNumber, logs: mined } = await bench.deposit(bench.pools[0], 9n);
    await bench.converged();
    const found = await bench.sql(
      'SELECT log_index::int AS index FROM chain_events WHERE block_number = $1',
      [blockNumber],
    );
    const { cooperative } = bench.deployment.contracts;
    const own = mined.filter(({ address }) => address.toLowerCase() === cooperative.toLowerCase());
    expect(found).toEqual(own.map(({ logIndex: index }) => ({ index })));
    lie(bench.proxies[other]);
  });

  it.each([0, 1])('the one that leaves out a log is not believed: number %s', async (liar) => {
    lie(bench.proxies[liar], { logs: () => [] });
    await bench.deposit(bench.pools[0], 6n);
    await bench.converged();
    await says(indexer, 'is not believed: leaves out events', 1 + liar);
    lie(bench.proxies[liar]);
  });
});
