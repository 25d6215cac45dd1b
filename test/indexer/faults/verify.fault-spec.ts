import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { bytes16 } from '#values/bytes16';
import type { VerifyReport } from '#verify/checks/findings';
import { type IndexerProcess, eventually, useChain } from '../../support/chain/chain-bench';
import { until } from '../../support/app';
import { RpcNode } from '../../support/chain/rpc-node';
import { connectTo } from '../../support/database';

const ENTRY = path.join(__dirname, '../../../dist/src/verify.js');

describe('verification beside an indexer', () => {
  const bench = useChain();
  let indexer: IndexerProcess;
  beforeAll(() => void (indexer = bench.indexer()));
  beforeEach(() => (bench.proxy.faults = {}));

  async function verify(
    ...options: string[]
  ): Promise<{ code: number | null; report: VerifyReport; output: string }> {
    const run = bench.indexer({}, ['--json', ...options], ENTRY);
    await run.ended;
    return { code: run.code, report: reportOf(run), output: run.output };
  }
  /** It follows the lines of the log. */
  const reportOf = ({ output }: IndexerProcess): VerifyReport =>
    JSON.parse(output.slice(output.indexOf('{'))) as VerifyReport;

  async function corrupt(statement: string): Promise<void> {
    const client = await connectTo(bench.database.url);
    await client.query('SET session_replication_role = replica');
    const { rowCount } = await client.query(statement);
    await client.end();
    expect(rowCount).toBe(1);
  }

  it('finds nothing where ledger and contracts agree', async () => {
    const [pool, other] = bench.pools;
    const id = await bench.pending(pool, 1000n);
    await bench.deposit(pool, 1000n, id);
    await bench.deposit(pool, 500n, undefined, bench.other);
    await bench.deposit(other, 70n);
    await bench.withdraw(pool, 300n);
    // Yield is for money that has been there for some time.
    await bench.rpc('evm_increaseTime', 5);
    await bench.mine(1);
    await bench.call(bench.owner, 'accrueYield', [bytes16(pool), 40n, 250]);
    await bench.pending(other, 5n);
    // Of a pool that the service does not know.
    await bench.deposit(randomUUID(), 9n);
    const { timestamp } = await bench.owner.getBlock();
    await bench.lottery(bench.owner, 'openDraw', [10n, timestamp + 1000n]);
    await bench.lottery(bench.saver, 'buyTickets', [1n, 3n]);
    await bench.converged();
    const { code, report } = await verify();
    expect(report).toMatchObject({ complete: true, listed: [] });
    expect(report.checked).toMatchObject({
      pools: 3,
      ...{ 'chain.total': 3, 'chain.balance': 3, 'chain.claimable': 3 },
      positions: 3,
      events: 9,
    });
    expect(code).toBe(0);
  });

  it('adds to the ledger what is set aside: that the chain has it is no difference', async () => {
    const [pool] = bench.pools;
    await bench.deposit(pool, 33n);
    await bench.converged();
    // As if the database had not taken the event's data.
    await bench.sql(`DELETE FROM transactions WHERE amount = 33`);
    await bench.sql(
      `UPDATE chain_events SET outcome = 'FAILED', reason = 'test', transaction_id = NULL WHERE amount = 33`,
    );
    const { report } = await verify('--repair');
    expect(report.listed).toEqual([
      expect.objectContaining({ kind: 'set_aside_counts.count', id: 'FAILED' }),
    ]);
    expect(report.checked['chain.balance']).toBeGreaterThan(2);
  });

  it('raises no false alarm beside deposits and reorganisations', async () => {
    let running = true;
    let deposits = 0;
    let end: () => void = () => undefined;
    // A transaction that a reorganisation drops from the node's pool as well is waited for in vain.
    const ended = new Promise<void>((resolve) => (end = resolve));
    const traffic = (async (): Promise<void> => {
      for (; running; deposits += 1) {
        const [pool, amount] = [bench.pools[deposits % 3], BigInt(100 + deposits)];
        await bench.deposit(pool, amount, deposits % 2 ? await bench.pending(pool, amount) : undefined);
        if (running && deposits % 4 === 3) {
          await bench.rpc('anvil_reorg', 1 + (deposits % 3), []);
          await bench.mine(1);
        }
      }
    })();
    traffic.catch(() => undefined);
    const chain = Promise.race([traffic, ended]);
    try {
      // A run during which blocks are taken back again and again is not complete.
      for (let complete = 0; complete < 5 || deposits <= 10;) {
        const { report } = await verify();
        expect(report.listed).toEqual([]);
        complete += Number(report.complete);
      }
    } finally {
      running = false;
      setTimeout(end, 5000).unref();
      await chain;
    }
    await bench.atHead();
    expect(await verify()).toMatchObject({ code: 0, report: { complete: true } });
  });

  it('could not check while the node is out, or answers for none of the contracts', async () => {
    bench.proxy.faults = { http: () => 502 };
    const out = await verify();
    expect(out).toMatchObject({ code: 2, report: { complete: false, listed: [] } });
    bench.proxy.faults = { result: (method, result) => (method === 'eth_call' ? '0x' : result) };
    expect(await verify()).toMatchObject({ code: 2, report: { complete: false, listed: [] } });
    bench.proxy.faults = { refuse: (method) => method === 'eth_call' };
    expect(await verify()).toMatchObject({ code: 2, report: { complete: false, listed: [] } });
    expect((await verify('--no-chain')).code).toBe(0);
  });

  it('ends at SIGTERM, and says that it is not complete', async () => {
    // Of its own, since the indexer asks too.
    const proxy = await RpcNode.start(bench.anvil.url);
    proxy.faults = { http: () => 'hang' };
    const run = bench.indexer({ RPC_URL: proxy.url }, ['--json'], ENTRY);
    try {
      await until(() => proxy.requests.length > 0);
      run.signal('SIGTERM');
      await run.ended;
    } finally {
      await proxy.stop();
    }
    expect(run.code).toBe(2);
    expect(reportOf(run).complete).toBe(false);
  });

  it('compares the last block in effect, also while more confirmations are waited for', async () => {
    await indexer.end('SIGTERM');
    const [pool] = bench.pools;
    await bench.deposit(pool, 3n);
    const waiting = bench.indexer({ CONFIRMATIONS: '3' });
    await bench.mine(2);
    await bench.atHead();
    expect(await bench.sql(`SELECT FROM chain_events WHERE outcome = 'WAITING'`)).toHaveLength(1);
    expect(await verify()).toMatchObject({ code: 0, report: { complete: true } });
    await bench.mine(3);
    await bench.atHead();
    await waiting.end('SIGTERM');
    // Takes effect at once, and then the setting is raised.
    indexer = bench.indexer();
    await bench.deposit(pool, 5n);
    await bench.atHead();
    await indexer.end('SIGTERM');
    indexer = bench.indexer({ CONFIRMATIONS: '10' });
    await bench.mine(1);
    await bench.atHead();
    expect(await verify()).toMatchObject({ code: 0, report: { complete: true } });
  });

  it('is repaired from the chain by rewinding, when a row of the ledger was altered', async () => {
    const [first, second] = await bench.sql<{ id: string; block_number: string }>(
      `SELECT id, block_number FROM transactions WHERE status = 'CONFIRMED' ORDER BY block_number LIMIT 2`,
    );
    await bench.sql(`UPDATE transactions SET amount = amount + 1 WHERE id = $1`, [first.id]);
    await corrupt(`DELETE FROM transactions WHERE id = '${second.id}'`);
    expect((await verify('--repair')).code).toBe(1);
    await bench.rewind(Number(first.block_number) - 1, { CONFIRMATIONS: '10' });
    await bench.atHead();
    // The altered amount was taken back, although no event had announced it.
    const { report } = await eventually('the event that was taken back', verify, ({ code }) => code !== 0);
    expect([report.complete, report.differences]).toEqual([true, { 'outbox.items': 1 }]);
    expect(report.listed).toMatchObject([
      { found: expect.stringMatching(/^published -1 times: .*"deposit.confirmed"/) },
    ]);
  });

  it('is part of the indexer that leads', async () => {
    await corrupt(`UPDATE pools SET total_yield = total_yield + 1 WHERE id = '${bench.pools[0]}'`);
    await indexer.end('SIGTERM');
    const other = bench.indexer({ VERIFY_INTERVAL: '1' });
    await until(() => other.output.includes(`DIFFERENCE in pools.total_yield of ${bench.pools[0]}`));
    await other.end('SIGTERM');
    expect(other.code).toBe(0);
  });

  it('tells how it is used', async () => {
    const run = bench.indexer({}, ['--mend'], ENTRY);
    await run.ended;
    expect(run).toMatchObject({ code: 2, output: expect.stringContaining('usage: verify') as string });
  });
});
