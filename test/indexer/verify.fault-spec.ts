import { Client } from 'pg';
import type { Report } from '../../src/verify/findings';
import { eventually, useChain } from '../support/chain-bench';
import { bytes16 } from '../../contracts/deploy';
import { randomUUID } from 'node:crypto';
import path from 'node:path';

const ENTRY = path.join(__dirname, '..', '..', 'dist', 'src', 'verify.js');

describe('verification beside an indexer', () => {
  const bench = useChain();
  beforeAll(() => void bench.indexer());
  beforeEach(() => (bench.proxy.faults = {}));

  async function verify(
    ...options: string[]
  ): Promise<{ code: number | null; report: Report; output: string }> {
    const run = bench.indexer({}, ['--json', ...options], ENTRY);
    await run.ended;
    const report = JSON.parse(run.output.slice(run.output.indexOf('{'))) as Report;
    return { code: run.code, report, output: run.output };
  }

  async function corrupt(statement: string): Promise<void> {
    const client = new Client({ connectionString: bench.database.url });
    await client.connect();
    await client.query('SET session_replication_role = replica');
    const { rowCount } = await client.query(statement);
    await client.end();
    expect(rowCount).toBe(1);
  }

  async function putBack(table: string, row: Record<string, unknown>): Promise<void> {
    const names = Object.keys(row);
    const places = names.map((_, i) => `$${i + 1}`);
    await bench.sql(
      `INSERT INTO ${table} (${names.join(', ')}) VALUES (${places.join(', ')})`,
      Object.values(row),
    );
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
    expect(report).toMatchObject({ complete: true, listed: [], differences: {} });
    expect(report.checked).toMatchObject({
      pools: 3,
      'pools on the chain': 3,
      'balances on the chain': 6,
      events: 9,
    });
    expect(code).toBe(0);
  });

  it('finds a row of the ledger that was removed, by the chain, and leaves the ledger as it is', async () => {
    const [pool] = bench.pools;
    const [row] = await bench.sql('SELECT * FROM transactions WHERE amount = 500');
    await corrupt(`DELETE FROM transactions WHERE amount = 500`);
    const first = await verify();
    expect(first.code).toBe(1);
    expect(Object.keys(first.report.differences)).toEqual(
      expect.arrayContaining(['chain.total', 'chain_events.transaction', 'pools.balance']),
    );
    expect(first.report.listed).toContainEqual({
      kind: 'chain.total',
      id: pool,
      found: '700',
      wanted: '1200',
      mended: false,
    });

    // What is derived follows the ledger again, and the ledger still differs from the chain.
    const mending = await verify('--repair');
    expect(mending.code).toBe(1);
    const second = await verify('--repair');
    expect(second.code).toBe(1);
    expect(second.report.listed.map(({ kind, id }) => [kind, id]).sort()).toEqual([
      ['chain.total', pool],
      ['chain_events.transaction', expect.any(String)],
    ]);
    expect(await bench.sql('SELECT FROM transactions WHERE amount = 500')).toEqual([]);

    // A person puts it back; the triggers keep the totals.
    await putBack('transactions', row);
    expect((await verify()).report.listed).toEqual([]);
  });

  it('finds an amount that was altered together with all that is derived from it', async () => {
    await bench.sql(`UPDATE transactions SET amount = 71 WHERE amount = 70`);
    const { code, report } = await verify('--repair');
    expect(code).toBe(1);
    expect(report.differences).toEqual({
      'chain.total': 1,
      'chain.balance': 1,
      'chain_events.transaction': 1,
    });
    expect(report.mended).toBe(0);
    await bench.sql(`UPDATE transactions SET amount = 70 WHERE amount = 71`);
  });

  it('finds an event that was lost, and a row that no event explains', async () => {
    const [event] = await bench.sql(`DELETE FROM chain_events WHERE amount = 70 RETURNING *`);
    const { report } = await verify();
    expect(report.differences).toEqual({ 'chain_events.seq': 1, 'transactions.event': 1 });
    await putBack('chain_events', event);
    expect((await verify()).code).toBe(0);
  });

  it('raises no false alarm beside deposits and reorganisations', async () => {
    let running = true;
    const chain = (async (): Promise<void> => {
      for (let i = 0; running; i += 1) {
        const pool = bench.pools[i % 3];
        await bench.deposit(
          pool,
          BigInt(100 + i),
          i % 2 ? await bench.pending(pool, BigInt(100 + i)) : undefined,
        );
        if (i % 4 === 3) await bench.rpc('anvil_reorg', 1 + (i % 3), []);
      }
    })();
    try {
      for (let i = 0; i < 8; i += 1) {
        const { report } = await verify();
        expect(report.listed).toEqual([]);
      }
    } finally {
      running = false;
      await chain;
    }
    await bench.converged();
    expect(await verify()).toMatchObject({ code: 0, report: { complete: true } });
  });

  it('could not check while the node is out, or answers for none of the contracts', async () => {
    bench.proxy.faults = { http: () => 502 };
    const out = await verify();
    expect(out).toMatchObject({ code: 2, report: { complete: false, differences: {} } });
    bench.proxy.faults = { result: (method, result) => (method === 'eth_call' ? '0x' : result) };
    const refused = await verify();
    expect(refused).toMatchObject({ code: 2, report: { complete: false, differences: {} } });
    expect((await verify('--no-chain')).code).toBe(0);
  });

  it('ends at SIGTERM, and says that it is not complete', async () => {
    const seen = bench.proxy.requests;
    bench.proxy.faults = { http: () => 'hang' };
    const run = bench.indexer({}, ['--json'], ENTRY);
    await eventually(
      'asking the node',
      () => Promise.resolve(bench.proxy.requests),
      (requests) => requests > seen + 2,
    );
    run.signal('SIGTERM');
    await run.ended;
    expect(run.code).toBe(2);
    expect((JSON.parse(run.output) as Report).complete).toBe(false);
  });

  it('tells how it is used', async () => {
    const run = bench.indexer({}, ['--mend'], ENTRY);
    await run.ended;
    expect(run).toMatchObject({ code: 2, output: expect.stringContaining('usage: verify') as string });
  });
});
