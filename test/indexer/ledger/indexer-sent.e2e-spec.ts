import { CONCLUDE, DUE } from '#indexer/background/submissions.sql';
import { Replay } from '#indexer/replaying/replay';
import { artifacts, receiptOf } from '#dev/deploy';
import { bytes16 } from '#values/bytes16';
import { until } from '../../support/app';
import { urlAs } from '../../support/database';
import { useChain } from '../../support/chain/chain-bench';
import { newHash } from '../../support/ledger';
import { type Fields, type PublishedRow, READ_ALL } from '../../support/events/outbox';
import { PaperChain, Written } from '../../support/chain/paper-chain';

const NONE = `0x${'0'.repeat(32)}` as const;

/** The indexer looks at the hashes that payers have told, on a real chain. */
describe('a hash that was told', () => {
  const bench = useChain();
  beforeAll(async () => {
    await bench.follow();
    await bench.atHead();
  });

  let accounts = 0;
  /** Of a pending deposit; due at once, and of an account of its own, so that one round takes all. */
  async function told(hash: string, fields: { checks?: number; id?: string } = {}): Promise<string> {
    const id = fields.id ?? (await bench.pending(bench.pools[0], 1n));
    await bench.sql(
      `INSERT INTO submissions (transaction_id, account, hash, at, check_at, checks) VALUES ($1, $2, $3, now(), now(), $4)`,
      [id, fields.id ? bench.address : `0x${`${++accounts}`.padStart(40, '0')}`, hash, fields.checks ?? 0],
    );
    return id;
  }
  const look = (id: string): Promise<unknown[]> =>
    bench.sql(
      `SELECT known, checks, sender, nonce::int, check_at > now() AS waits FROM submissions WHERE transaction_id = $1`,
      [id],
    );
  const isGone = async (id: string): Promise<boolean> => (await look(id)).length === 0;
  const send = (amount: bigint, pool = bench.pools[0]) =>
    bench.saver.writeContract({
      abi: artifacts.SavingsPool.abi,
      address: bench.deployment.contracts.cooperative,
      functionName: 'deposit',
      args: [bytes16(pool), NONE, amount],
      // As a wallet that does not ask first.
      gas: 300_000n,
    });

  /** Has each looked at again, until it is as wanted. */
  const lookedAt = async (id: string, wanted: object): Promise<void> => {
    await bench.sql("UPDATE submissions SET check_at = now() - interval '1 second'");
    await until(async () => ((await look(id)) as { waits: boolean }[])[0].waits);
    expect(await look(id)).toMatchObject([wanted]);
  };
  /** Blocks come until it is taken back. */
  const taken = (id: string): Promise<unknown> =>
    until(async () => {
      await bench.mine(1);
      await bench.sql("UPDATE submissions SET check_at = now() - interval '1 second'");
      return isGone(id);
    });

  it('confirms one deposit of its pool and account with the amount that arrived, submitted before or after; a reorganisation reverts it', async () => {
    const pool = await bench.addPool();
    const rows = (): Promise<unknown[]> =>
      bench.sql(
        'SELECT t.id, status, amount, s.hash FROM transactions t LEFT JOIN submissions s ON s.transaction_id = t.id WHERE pool_id = $1 ORDER BY id',
        [pool],
      );
    const [before, after, other] = [
      await bench.pending(pool, 100n),
      await bench.pending(pool, 200n, -1),
      await bench.pending(pool, 200n, -2),
    ];
    await bench.rpc('evm_setAutomine', false);
    const hash = await send(99n, pool);
    await told(hash, { id: before });
    await bench.rpc('evm_setAutomine', true);
    await bench.mine(1);
    await bench.atHead();
    const waits = { status: 'PENDING', amount: '200', hash: null };
    const confirmed = { id: before, status: 'CONFIRMED', amount: '99', hash: null };
    expect(await rows()).toEqual([confirmed, { id: after, ...waits }, { id: other, ...waits }]);
    const { transactionHash, blockNumber } = await bench.deposit(pool, 199n);
    await bench.atHead(blockNumber);
    await told(transactionHash, { id: after });
    await until(async () => isGone(after));
    await told(transactionHash, { id: other });
    await lookedAt(other, {});
    expect(await rows()).toEqual([
      confirmed,
      { id: after, status: 'CONFIRMED', amount: '199', hash: null },
      { id: other, ...waits, hash: transactionHash },
    ]);
    expect(await bench.sql('SELECT balance, pending_balance FROM pools WHERE id = $1', [pool])).toEqual([
      { balance: '498', pending_balance: '200' },
    ]);
    const { corrected } = await new Replay(urlAs(bench.database.url, 'operator'), () => undefined).run();
    expect(Object.values(corrected).filter(Boolean)).toEqual([]);
    await bench.converged();
    await bench.rpc('anvil_reorg', 1, []);
    await bench.atHead();
    expect(await rows()).toEqual([
      confirmed,
      { id: after, ...waits, hash: transactionHash },
      { id: other, ...waits, hash: transactionHash },
    ]);
    await bench.converged();
  });

  it('is taken back when it failed or paid something else in a final block; else it stays', async () => {
    const failed = await send(0n);
    expect((await receiptOf(bench.saver, failed)).status).toBe('reverted');
    const other = await bench.deposit(bench.pools[1], 5n);
    await bench.atHead(other.blockNumber);
    const gone = [await told(failed), await told(other.transactionHash)];
    const stays = await told(newHash(), { checks: 50 });
    const withoutEffect = await bench.deposit(bench.pools[1], 6n);
    await bench.atHead(withoutEffect.blockNumber);
    const setAside = await told(withoutEffect.transactionHash);
    await bench.sql(`UPDATE chain_events SET outcome = 'REFUSED' WHERE tx_hash = $1`, [
      withoutEffect.transactionHash,
    ]);
    // A reorganisation could still take their blocks back.
    for (const id of gone) await lookedAt(id, { known: true, sender: bench.address });
    // No endpoint says which blocks are final.
    await bench.mine(64);
    for (const id of gone) await taken(id);
    await lookedAt(stays, { known: false, sender: null, nonce: null });
    // Taken back by the payer before the first look.
    const forgotten = await told(newHash(), { checks: -1 });
    await until(() => isGone(forgotten));
    await lookedAt(setAside, { checks: 0 });
    // It confirmed nothing, and said so.
    const rows = await bench.sql<{ status: string }>('SELECT status FROM transactions WHERE id = ANY($1)', [
      gone,
    ]);
    expect(rows.map(({ status }) => status)).toEqual(['PENDING', 'PENDING']);
    const events = (await bench.sql<PublishedRow>(READ_ALL)).flatMap(({ items }) => items as Fields[]);
    for (const id of gone)
      expect(
        events.filter(({ transactionId, txHash }) => transactionId === id && txHash === null),
      ).toMatchObject([{ topic: 'deposit.submitted' }]);
  });
});

describe('turns', () => {
  const written = new Written();
  const chain = new PaperChain();
  beforeAll(() => written.start(chain));
  afterAll(() => written.stop());

  it('conclude nothing of another hash, nor from a block that the ledger has left, and wait longer each time', async () => {
    const id = '01a1fc82-0000-7000-8000-000000000001';
    const [{ hash }] = chain.blocks;
    const sender = `0x${'5a'.repeat(20)}`;
    const tell = (): Promise<unknown> =>
      written.sql(
        `INSERT INTO submissions (transaction_id, account, hash, at, check_at) VALUES ($1, $2, 'h', now(), now())`,
        [id, `0x${'1'.repeat(40)}`],
      );
    const conclude = async (verdict: string, of = 'h', block = hash): Promise<unknown> => {
      await written.sql(CONCLUDE, [[id], [of], [verdict], [sender], [5], 0, block]);
      const [row] = await written.sql<{ checks: number; known: boolean; seconds: number }>(
        // To 20 seconds: looking takes time.
        `SELECT checks, known, round(extract(epoch FROM check_at - now()) / 20)::int * 20 AS seconds FROM submissions`,
      );
      return row && [row.checks, row.known, row.seconds];
    };
    await tell();
    expect(await conclude('over', 'another')).toEqual([0, false, 0]);
    expect(await conclude('over', 'h', 'another')).toEqual([0, false, 0]);
    expect(await conclude('undecided')).toEqual([0, false, 40]);
    expect(await conclude('unknown')).toEqual([1, false, 40]);
    expect(await conclude('unknown')).toEqual([2, false, 80]);
    // What no node knows may still be mined, whatever time has passed.
    expect(await conclude('open')).toEqual([1, true, 40]);
    await written.sql("UPDATE submissions SET check_at = now() - interval '1 second'");
    // The watch then asks for its sender.
    expect(await written.sql(DUE, [''])).toMatchObject([{ id, hash: 'h', sender, nonce: 5 }]);
    for (let n = 2; n < 9; n++)
      expect(await conclude('open')).toEqual([n, true, Math.min(40 * 2 ** (n - 1), 3600)]);
    for (let n = 1; n < 12; n++)
      expect(await conclude('unknown')).toEqual([n, false, Math.min(40 * 2 ** (n - 1), 3600)]);
    expect(await conclude('over')).toBeUndefined();
  });

  it('are fair to accounts, bounded, and take the oldest of each', async () => {
    const account = (n: number): string => `0x${`${n}`.padStart(40, '0')}`;
    await written.sql('SET session_replication_role = replica');
    // One of 20 accounts has told 3,000 of them.
    await written.sql(
      `INSERT INTO submissions (transaction_id, account, hash, at, check_at)
       SELECT gen_random_uuid(), CASE WHEN n <= 3000 THEN $1 ELSE '0x' || lpad((n - 2990)::text, 40, '0') END, n::text, now(),
         now() - make_interval(secs => 4000 - n) FROM generate_series(1, 3020) n`,
      [account(1)],
    );
    await written.sql('ANALYZE submissions');
    const turn = async (after: string) => {
      const rows = await written.sql<{ next: string; hash: string; id: string | null }>(DUE, [after]);
      return { next: rows[0].next, hashes: rows.filter(({ id }) => id).map(({ hash }) => hash) };
    };
    const first = await turn('');
    expect([first.hashes.length, first.hashes[0]]).toEqual([10, '1']);
    const second = await turn(first.next);
    const third = await turn(second.next);
    expect([second.hashes.length, third.hashes.length]).toEqual([10, 1]);
    expect(new Set([...first.hashes, ...second.hashes, ...third.hashes]).size).toBe(21);
    expect(third.next).toBe('');
    // It reads few rows, though 3,000 are due.
    const plan = await written.sql<Record<string, string>>(
      `EXPLAIN (ANALYZE, BUFFERS) ${DUE.replace('$1::text', `''::text`)}`,
    );
    const text = plan.map((row) => row['QUERY PLAN']).join('\n');
    expect(text).not.toMatch(/Seq Scan on submissions/);
    const most = [...text.matchAll(/submissions.*actual .*rows=([\d.]+) loops=(\d+)/g)].map(
      ([, rows, loops]) => Number(rows) * Number(loops),
    );
    expect(most.length).toBeGreaterThan(2);
    expect(Math.max(...most)).toBeLessThan(50);
  });
});
