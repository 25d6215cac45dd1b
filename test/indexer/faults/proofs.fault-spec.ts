import { toFunctionSelector } from 'viem';
import { until } from '../../support/app';
import { type IndexerProcess, useChain } from '../../support/chain/chain-bench';
import type { Faults } from '../../support/chain/rpc-node';

const SEQ = toFunctionSelector('function seq()');

/** Contracts that do not say how many events they have. */
const unnumbered: Faults = {
  result: (method, result, [call]) =>
    method === 'eth_call' && (call as { data: string }).data === SEQ ? '0x' : result,
};

describe('of two endpoints, about contracts that do not number their events', () => {
  const bench = useChain(2);
  let indexer: IndexerProcess;

  /** @param endpoint the endpoint with separate faults */
  const lie = (endpoint?: number, faults?: Faults): void =>
    bench.proxies.forEach((proxy, i) => (proxy.faults = { ...(i === endpoint && faults), ...unnumbered }));

  beforeAll(async () => {
    lie();
    indexer = bench.indexer();
    await bench.deposit(bench.pools[0], 5n);
    await bench.converged();
  });
  afterEach(() => lie());
  afterAll(() => indexer.end());

  it('proves each block if another endpoint shows the receipts that the reader hides', async () => {
    lie(0, { refuse: (method) => /Receipt/.test(method) });
    await bench.deposit(bench.pools[0], 7n);
    await bench.mine(5);
    await bench.converged();
    const [{ to }] = await bench.sql<{ to: number }>('SELECT max(to_number)::int AS to FROM chain_proofs');
    expect(to).toBe((await bench.cursor())!.number);
  });

  it.each([0, 1])('the one that leaves out a log is not believed: number %s', async (liar) => {
    lie(liar, { logs: () => [] });
    await bench.deposit(bench.pools[0], 6n);
    await bench.converged();
    const told = 'is not believed: leaves out events';
    await until(() => indexer.output.split(told).length > 1 + liar);
  });
});
