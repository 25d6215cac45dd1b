import { randomBytes } from 'node:crypto';
import pino from 'pino';
import type { Counter } from 'prom-client';
import { writePoolOptions } from '#platform/database/data-source';
import { Database } from '#platform/database/database';
import { ExpiredRows } from '#platform/database/expired-rows';
import { ISSUE_NONCES, REMOVE_EXPIRED_NONCES } from '#features/access/sign-in.sql';
import { createApp } from '#api/app.setup';
import { TEN, sweepAll, until, useApp } from '../support/app';
import { pagesOf, planOf } from '../support/plans';

const app = useApp();

/** ExpiredRows of another process, which has removed nothing yet. */
const remover = (): ExpiredRows => {
  const rows = new ExpiredRows(app.nest.get(Database), { inc: () => undefined } as unknown as Counter);
  rows.register('nonces', REMOVE_EXPIRED_NONCES);
  return rows;
};
const nonces = async (): Promise<number> => (await app.sql('SELECT FROM nonces')).length;
const expire = (rows: number): Promise<unknown> =>
  app.sql(
    `INSERT INTO nonces SELECT md5(random()::text), NULL, now() - make_interval(secs => 1 + n * 0.001)
     FROM generate_series(1, $1) n`,
    [rows],
  );
afterEach(() => app.sql('DELETE FROM nonces'));

it('removes expired rows in batches, and nothing else', async () => {
  const user = await app.signIn();
  const nonce = await app.nonce();
  const pool = { type: 'individual', initialDeposit: TEN };
  for (const key of ['fresh', 'old']) await app.post('/pools', pool, user, { 'idempotency-key': key });
  await app.sql(`UPDATE idempotency_keys SET created_at = now() - interval '25 hours' WHERE key = 'old'`);
  await expire(2500);
  await until(async () => {
    const { text } = await app.get('/metrics');
    return (
      text.includes('expired_rows_removed_total{table="nonces"} 2500') &&
      text.includes('expired_rows_removed_total{table="idempotency_keys"} 1')
    );
  });
  expect(await app.sql('SELECT nonce FROM nonces')).toEqual([{ nonce }]);
  expect(await app.sql('SELECT key FROM idempotency_keys')).toEqual([{ key: 'fresh' }]);
  // It must not run during the next tests.
  await app.nest.get(ExpiredRows).onModuleDestroy();
});

it('removes the rows of other tables though a statement fails, and reports that', async () => {
  const rows = new ExpiredRows(app.nest.get(Database), { inc: () => undefined } as unknown as Counter);
  rows.register('broken', {
    ...REMOVE_EXPIRED_NONCES,
    name: 'broken',
    text: 'SELECT $1 || 1 / ($2::int - $2::int)',
  });
  rows.register('nonces', REMOVE_EXPIRED_NONCES);
  await expire(10);
  await expect(rows.sweep()).rejects.toThrow('division by zero');
  expect(await nonces()).toBe(0);
});

it('begins with no other table after it was stopped, so that a stop waits for one statement only', async () => {
  const write = jest.fn(async () => {
    void rows.onModuleDestroy();
    return { removed: 1000, reached: null };
  });
  const rows = new ExpiredRows(
    { write } as unknown as Database,
    { inc: () => undefined } as unknown as Counter,
  );
  for (const table of ['nonces', 'others']) rows.register(table, REMOVE_EXPIRED_NONCES);
  expect(await rows.sweep()).toBe(1000);
  expect(write).toHaveBeenCalledTimes(1);
});

it('tries a table that failed again when the others have no more, so that they do not wait for it', async () => {
  const asked: string[] = [];
  const write = async ({ name }: { name: string }) => {
    asked.push(name);
    if (name === 'broken') throw new Error('canceled');
    return { removed: asked.length < 6 ? 1000 : 0, reached: null };
  };
  const rows = new ExpiredRows(
    { write } as unknown as Database,
    { inc: () => undefined } as unknown as Counter,
  );
  for (const name of ['broken', 'others']) rows.register(name, { ...REMOVE_EXPIRED_NONCES, name });
  await expect(rows.sweep()).rejects.toThrow('canceled');
  expect(await sweepAll(rows)).toBe(3000);
  expect(asked).toEqual(['broken', ...Array<string>(5).fill('others')]);
  await expect(rows.sweep()).rejects.toThrow('canceled');
});

it('needs few statements for many rows, so that it never falls behind', async () => {
  await expire(3500);
  const write = jest.spyOn(app.nest.get(Database), 'write');
  try {
    expect(await sweepAll(remover())).toBe(3500);
    expect(write.mock.calls.filter(([statement]) => statement === REMOVE_EXPIRED_NONCES)).toHaveLength(4);
  } finally {
    write.mockRestore();
  }
});

it('runs in one process at a time, and skips rows that a request has locked', async () => {
  const client = await app.connect();
  try {
    await expire(3000);
    const sums = await Promise.all([remover(), remover(), remover()].map(sweepAll));
    expect(sums.reduce((sum, each) => sum + each)).toBe(3000);
    await expire(5);
    await client.query('BEGIN; SELECT pg_advisory_xact_lock(hashtextextended($$expired nonces$$, 0))');
    expect(await remover().sweep()).toBe(0);
    await client.query('ROLLBACK; BEGIN; SELECT FROM nonces ORDER BY expires_at LIMIT 2 FOR UPDATE');
    const rows = remover();
    expect(await rows.sweep()).toBe(3);
    await client.query('ROLLBACK');
    // It looks from the start again after an hour.
    expect(await rows.sweep()).toBe(0);
    jest.useFakeTimers({
      now: Date.now() + 3_600_001,
      doNotFake: ['nextTick', 'setImmediate', 'setTimeout', 'clearTimeout', 'performance'],
    });
    expect(await rows.sweep()).toBe(2);
  } finally {
    jest.useRealTimers();
  }
});

it('goes on after an outage, and stops with the process', async () => {
  const other = await createApp(app.environment, pino({ level: 'silent' }));
  const rows = other.get(ExpiredRows);
  await expire(10);
  await app.sql(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE application_name = 'api' AND datname = current_database()`,
  );
  // Its own sweep may come first.
  await until(async () => {
    await rows.sweep().catch(() => undefined);
    return (await nonces()) === 0;
  });
  await other.close();
  await expire(10);
  await rows.sweep();
  expect(await nonces()).toBe(10);
});

it('costs no more while a backup keeps every removed row', async () => {
  const { options } = writePoolOptions(app.environment);
  const client = await app.connect({ options });
  const backup = await app.connect();
  await client.query(`PREPARE issue AS ${ISSUE_NONCES.text}`);
  await client.query(`PREPARE remove AS ${REMOVE_EXPIRED_NONCES.text}`);
  const ask = (text: string): Promise<unknown[]> => client.query(text).then(({ rows }) => rows);
  const pages = async (execute: string): Promise<number> =>
    pagesOf((await planOf(ask, `EXECUTE ${execute}`))[0]);
  const issue = (): Promise<number> => pages(`issue('{${randomBytes(8).toString('hex')}}', '{NULL}')`);
  const before = await issue();
  await backup.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM nonces');
  await expire(40_000);
  expect(await sweepAll(remover())).toBe(40_000);
  // The heap has grown by some hundred pages of dead rows.
  expect(await issue()).toBeLessThan(before + 10);
  const [{ now }] = await app.sql<{ now: string }>('SELECT now()::text AS now');
  expect(await pages(`remove('${now}', 1000)`)).toBeLessThan(20);
  // A scan from the start would read the whole index.
  expect(await pages(`remove(NULL, 1000)`)).toBeGreaterThan(200);
});
