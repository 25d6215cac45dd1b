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

  it('9: kill -9 before, during and after a commit', async () => {
    for (let i = 0; i < 60; i += 1) await bench.deposit(bench.pools[i % 3], BigInt(100 + i));
    // Enough for all rounds, however late one is looked at.
    await bench.mine(400);
    // A commit for every block, so that kills fall between and into commits.
    bench.proxy.faults = { maxRange: 1 };
    for (let round = 0; round < 6; round += 1) {
      const indexer = bench.indexer();
      const at = (await bench.cursor())?.number ?? 0;
      // So that there is something left, even if the round before read all.
      await bench.mine(10);
      await until(async () => ((await bench.cursor())?.number ?? 0) > at + 3);
      await indexer.end('SIGKILL');
    }
    bench.proxy.faults = {};
    const indexer = bench.indexer();
    await bench.converged();
    await indexer.end();
  });

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

  it('12: two writers with the lock disabled apply nothing twice', async () => {
    // In front of the system's function stands one that locks nothing, so that both believe that they lead. Another
    // one for integer would make the call ambiguous.
    const name = new URL(bench.database.url).pathname.slice(1);
    await bench.sql(`CREATE SCHEMA unlocked; GRANT USAGE ON SCHEMA unlocked TO PUBLIC`);
    await bench.sql(
      `CREATE FUNCTION unlocked.pg_try_advisory_lock(bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true'`,
    );
    await bench.sql(`ALTER DATABASE "${name}" SET search_path = unlocked, public, pg_catalog`);
    const both = [bench.indexer(), bench.indexer()];
    // Each takes the lead from the other again and again; here until both have had it and lost it.
    const lost = /leading[^]*starting over: (another process leads|the cursor was moved)/;
    for (let i = 0; !both.every(({ output }) => lost.test(output)); i += 1)
      await bench.deposit(bench.pools[i % 3], BigInt(40_000 + i));
    await bench.converged();
    for (const each of both) await each.end();
    await bench.sql(`ALTER DATABASE "${name}" RESET search_path`);
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
