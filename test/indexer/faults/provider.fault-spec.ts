import { useChain } from '../../support/chain/chain-bench';
import type { Faults, Log } from '../../support/chain/chain-proxy';

describe('a provider that', () => {
  const bench = useChain();
  beforeAll(async () => {
    for (let i = 0; i < 25; i += 1) await bench.deposit(bench.pools[i % 3], BigInt(1_000_000 + i));
    await bench.mine(70);
    for (let i = 0; i < 10; i += 1) await bench.deposit(bench.pools[i % 3], BigInt(2_000_000 + i));
  });

  /** Takes everything that came from the chain out of the database. */
  async function forget(): Promise<void> {
    await bench.sql(`TRUNCATE chain_cursor, chain_blocks, chain_contracts, chain_events, set_aside_counts,
      lottery_draws, lottery_tickets`);
    await bench.sql('DELETE FROM transactions');
    await bench.sql('DELETE FROM yield_accruals');
  }

  /** Reads the whole chain under the fault, then a live tail. */
  async function follows(faults: Faults, heal = false, settings = {}): Promise<void> {
    await forget();
    bench.proxy.faults = faults;
    const indexer = bench.indexer(settings);
    for (let i = 0; i < 5; i += 1) await bench.deposit(bench.pools[i % 3], BigInt(3_000_000 + i));
    if (heal) {
      const seen = bench.proxy.requests;
      while (bench.proxy.requests < seen + 20) await new Promise((resolve) => setImmediate(resolve));
      bench.proxy.faults = {};
    }
    await bench.converged();
    bench.proxy.faults = {};
    await indexer.end();
  }

  it('14: answers 30 % with 429, 502, a dropped connection or not at all', async () => {
    const outcomes = ['drop', 429, 502, 429, 502, 'drop'] as const;
    let n = 0;
    // Every third request fails; one in thirty hangs, since each costs a timeout.
    await follows({
      http: () => {
        n += 1;
        if (n % 30 === 5) return 'hang';
        return n % 3 === 0 ? outcomes[n % outcomes.length] : 'ok';
      },
    });
  });

  it('15: has small caps of range and results', () => follows({ maxRange: 7, maxLogs: 3 }));

  it('16: repeats, shuffles and adds foreign logs', () =>
    follows({
      logs: (logs) => {
        const foreign = logs.map((log) => ({ ...log, address: `0x${'7'.repeat(40)}` }));
        return [...logs, ...foreign, ...logs].sort((a, b) =>
          Number(a.logIndex) + a.address > b.address + '1' ? 1 : -1,
        );
      },
    }));

  it('17: leaves answers out of batches and reorders them', () => {
    let n = 0;
    return follows({ batch: (answers) => (n++ % 2 ? answers.slice(1) : [...answers].reverse()) });
  });

  /** Whether a call names a block by its hash. */
  const hasHash = (_: string, params: unknown[]): boolean => /"blockHash"/.test(JSON.stringify(params));
  const plain: [string, Faults][] = [
    ['refuses batches', { maxBatch: 1 }],
    ['answers one call of a batch', { batch: ([first]) => first }],
    ['refuses batches and block hashes', { maxBatch: 1, refuse: hasHash }],
    [
      'refuses batches and block hashes in eth_call',
      { maxBatch: 1, refuse: (method, params) => method === 'eth_call' && hasHash(method, params) },
    ],
    [
      'refuses batches and block hashes, and leaves events out at times',
      {
        maxBatch: 1,
        refuse: hasHash,
        logs: (() => {
          let times = 6;
          return (logs: Log[]) => (logs.length > 1 && times-- > 0 ? logs.slice(0, -1) : logs);
        })(),
      },
    ],
  ];
  it.each(plain)('%s', (_, faults) => follows(faults));

  it('has a budget, which no request exceeds', async () => {
    const sizes: number[] = [];
    const faults: Faults = { batch: (answers) => (sizes.push(answers.length), answers) };
    await follows(faults, false, { RPC_REQUESTS_PER_SECOND: '30' });
    expect(Math.max(...sizes)).toBe(30);
  });

  const hex = (n: number): string => `0x${n.toString(16)}`;
  const times: [string, (n: number) => unknown][] = [
    ['0x0', () => '0x0'],
    ['nothing', () => undefined],
    ['null', () => null],
    ['a number', () => 1_700_000_000],
    ['the year 2100', () => hex(4_102_444_800)],
    ['times that fall', (n) => hex(1_767_225_600 - n)],
  ];
  it.each(times)('says %s as the time of a log', async (_, timeOf) => {
    await follows({ logs: (logs) => logs.map((log, n) => ({ ...log, blockTimestamp: timeOf(n) })) });
    const stored = await bench.sql<{ block: string; time: string }>(
      `SELECT block_number::text AS block, date_part('epoch', confirmed_at)::text AS time FROM transactions
       WHERE status = 'CONFIRMED'`,
    );
    expect(stored.length).toBeGreaterThan(25);
    for (const { block, time } of stored) {
      const header = (await bench.rpc('eth_getBlockByNumber', hex(Number(block)), false)) as {
        timestamp: string;
      };
      expect([block, time]).toEqual([block, String(Number(header.timestamp))]);
    }
  });

  const omitted: [string, (log: Log, logs: Log[]) => boolean][] = [
    ['a whole block', (log) => Number(log.blockNumber) % 9 === 0],
    ['the middle of a range', (log, logs) => log === logs[Math.floor(logs.length / 2)]],
    ['the tail', (log, logs) => log === logs.at(-1)],
  ];
  it.each(omitted)('18: omits %s, until it does not', async (_, omit) => {
    let times = 12;
    await follows({ logs: (logs) => (times-- > 0 ? logs.filter((log) => !omit(log, logs)) : logs) });
  });

  it('18: is never believed while it omits', async () => {
    await forget();
    bench.proxy.faults = { logs: (logs) => logs.filter((_, i) => i !== 3) };
    const indexer = bench.indexer();
    const seen = bench.proxy.requests;
    while (bench.proxy.requests < seen + 30) await new Promise((resolve) => setTimeout(resolve, 20));
    expect((await bench.cursor())?.state).not.toBe('synced');
    bench.proxy.faults = {};
    await bench.converged();
    await indexer.end();
  });
});
