import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { constants, getPriority, tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { startPostgres } from '#dev/postgres';
import { until } from '../../support/app';
import { type IndexerProcess, useChain } from '../../support/chain/chain-bench';
import { giveAccounts, migrate } from '../../support/database';

describe('processes', () => {
  const bench = useChain();

  async function startLeader(): Promise<IndexerProcess> {
    const leader = bench.indexer();
    await until(() => leader.output.includes('leading'));
    return leader;
  }

  it('an indexer gives way to requests, but never takes a higher priority than it was given', async () => {
    const { PRIORITY_BELOW_NORMAL: lower } = constants.priority;
    const leader = await startLeader();
    const threads = (await readdir(`/proc/${leader.pid}/task`)).map(Number);
    expect(threads.length).toBeGreaterThan(1);
    for (const thread of threads) expect(getPriority(thread)).toBe(Math.max(getPriority(), lower));
    await leader.end();
  });

  it('11: a leader that was stopped finds another one when it goes on', async () => {
    const leader = await startLeader();
    const standby = bench.indexer();
    leader.signal('SIGSTOP');
    await bench.deposit(bench.pools[1], 9n);
    await bench.converged();
    await until(() => standby.output.includes('leading'));
    leader.signal('SIGCONT');
    await bench.deposit(bench.pools[1], 10n);
    await bench.converged();
    await leader.end();
    await standby.end();
  });

  it('the command set-aside lists events with their reason', async () => {
    const pool = 'ffffffff-ffff-4fff-8fff-ffffffffffff';
    const indexer = bench.indexer();
    await bench.deposit(pool, 31n);
    await bench.converged();
    await indexer.end('SIGTERM');
    const listing = bench.indexer({}, ['set-aside', '--limit', '5', '--json']);
    await listing.ended;
    expect(listing.code).toBe(0);
    expect(JSON.parse(listing.output)).toMatchObject([
      {
        outcome: 'UNKNOWN_POOL',
        kind: 'Deposited',
        pool,
        account: bench.address,
        amount: '31',
        contract: bench.deployment.contracts.cooperative.toLowerCase(),
        txHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) as string,
      },
    ]);
  });

  it('13: PostgreSQL is killed during a backfill', async () => {
    const dir = await mkdtemp(path.join(tmpdir(), 'pooled-savings-fault-'));
    let server = await startPostgres({ dir, database: 'faults' });
    try {
      const { port } = server;
      await giveAccounts(server.url);
      await migrate(server.url);
      await bench.useDatabase({ url: server.url, drop: () => Promise.resolve() });
      bench.proxy.faults = { maxRange: 1 };
      const indexer = bench.indexer();
      await until(async () => ((await bench.cursor())?.number ?? 0) > 10);
      process.kill(server.pid, 'SIGKILL');
      await server.stop();
      server = await startPostgres({ dir, database: 'faults', port });
      expect(server.port).toBe(port);
      await bench.db.end().catch(() => undefined);
      bench.db = new Client({ connectionString: server.url });
      await bench.db.connect();
      bench.proxy.faults = {};
      await bench.converged();
      await indexer.end();
    } finally {
      await bench.db.end().catch(() => undefined);
      await server.stop();
      await rm(dir, { recursive: true, force: true });
    }
  });
});
