import { eventually, useChain } from '../../support/chain/chain-bench';
import type { Faults, Log } from '../../support/chain/chain-proxy';

describe('a history that is read', () => {
  const bench = useChain(3);
  /** For how many blocks the provider was asked at once. */
  const seen: number[] = [];
  beforeAll(async () => {
    // Sparse, dense, and sparse again.
    for (let i = 0; i < 5; i += 1) {
      await bench.deposit(bench.pools[i % 3], BigInt(1_000_000 + i));
      await bench.mine(300);
    }
    for (let i = 0; i < 30; i += 1) await bench.deposit(bench.pools[i % 3], BigInt(2_000_000 + i));
    await bench.mine(700);
    for (let i = 0; i < 5; i += 1) await bench.deposit(bench.pools[i % 3], BigInt(3_000_000 + i));
    await bench.mine(80);
  });
  afterEach(async () => {
    for (const proxy of bench.proxies) proxy.faults = {};
    await bench.startAfresh();
  });

  const noting = (faults: Faults): Faults => ({
    ...faults,
    logs: (logs: Log[], { fromBlock, toBlock }) => {
      seen.push(Number(toBlock) - Number(fromBlock) + 1);
      return logs;
    },
  });
  const all = (faults: () => Faults): void => bench.proxies.forEach((proxy) => (proxy.faults = faults()));
  const RPC_URL = (): string => bench.proxy.url;
  const past = (block: number): Promise<unknown> =>
    eventually(
      `block ${block}`,
      () => bench.cursor().catch(() => undefined),
      (cursor) => (cursor?.number ?? 0) >= block,
    );

  it('from a provider that takes 5 blocks at once, in ranges of many calls', async () => {
    seen.length = 0;
    all(() => noting({ maxRange: 5 }));
    const before = bench.proxy.requests;
    const indexer = bench.indexer({ RPC_URL: RPC_URL() });
    await bench.converged();
    expect(Math.max(...seen)).toBe(5);
    // 2,300 blocks in less than a request for ten of them.
    expect(bench.proxy.requests - before).toBeLessThan(230);
    await indexer.end();
  });

  it('from a provider whose caps change in between', async () => {
    all(() => ({ maxRange: 200 }));
    const indexer = bench.indexer({ RPC_URL: RPC_URL() });
    await past(400);
    all(() => ({ maxRange: 3, maxLogs: 2 }));
    await past(1500);
    all(() => ({}));
    await bench.converged();
    await indexer.end();
  });

  it('from three endpoints of which one has a cap', async () => {
    for (const capped of [0, 1]) {
      bench.proxies[capped].faults = { maxRange: 5 };
      const indexer = bench.indexer();
      await bench.converged();
      bench.proxies[capped].faults = {};
      expect(indexer.output).not.toContain('is not believed');
      await indexer.end();
      await bench.startAfresh();
    }
  });

  it('from three endpoints of which one leaves events out', async () => {
    bench.proxies[0].faults = { maxRange: 50, logs: (logs) => logs.filter((_, i) => i !== 1) };
    const indexer = bench.indexer();
    await bench.converged();
    expect(indexer.output).toContain('is not believed');
    await indexer.end();
  });

  it('while the head changes', async () => {
    all(() => ({ maxRange: 5 }));
    const indexer = bench.indexer({ RPC_URL: RPC_URL() });
    for (const block of [300, 900, 1500]) {
      await past(block);
      await bench.rpc('anvil_reorg', 20, []);
      await bench.deposit(bench.pools[0], BigInt(block));
    }
    await bench.converged();
    await indexer.end();
  });

  it('by an indexer that is killed again and again', async () => {
    all(() => ({ maxRange: 5 }));
    for (const block of [200, 700, 1200, 1700]) {
      const indexer = bench.indexer({ RPC_URL: RPC_URL() });
      await past(block);
      await indexer.end();
    }
    const indexer = bench.indexer({ RPC_URL: RPC_URL() });
    await bench.converged();
    await indexer.end();
  });

  it('while some ranges fail for long, and others do not', async () => {
    let times = 40;
    const isBad = (from: number): boolean => from > 600 && from < 800 && times > 0;
    all(() => ({
      maxRange: 50,
      refuse: (method, params) => {
        const from = method === 'eth_getLogs' && Number((params[0] as { fromBlock?: string }).fromBlock);
        return from !== false && isBad(from) && times-- > 0;
      },
    }));
    const indexer = bench.indexer({ RPC_URL: RPC_URL() });
    await bench.converged();
    expect(times).toBeLessThan(40);
    await indexer.end();
  });
});
