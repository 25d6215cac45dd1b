import { tmpdir } from 'node:os';
import type { QueryResultRow } from 'pg';
import { DataSource } from 'typeorm';
import { isUnavailable } from '#platform/postgres/unavailable';
import { type LocalPostgres, startPostgres } from '#dev/postgres';
import { type Response, type SignedIn, TEN, TestApp, until } from '../support/app';
import { PATIENT, migrate, query } from '../support/database';

/** A server of its own, whose commits wait for a standby as soon as the test says so. */
let server: LocalPostgres;
/** Short while commits wait. */
const limits = { ...PATIENT };
const SHORT = { sendMs: 1000, resendMs: 1500, deadlineMs: 1800, answerMs: 2000 };
const app = new TestApp();
let user: SignedIn;
let lastKey = 0;

beforeAll(async () => {
  const settings = { synchronous_commit: 'on' };
  server = await startPostgres({ dir: tmpdir(), database: 'savings', ephemeral: true, settings });
  await migrate(server.url);
  await app.start({ DATABASE_URL: server.url }, undefined, undefined, { limits });
});
afterAll(async () => {
  await app.stop();
  await server?.stop();
});
beforeEach(async () => {
  user = await app.signIn();
});
afterEach(() => waitForStandby(false));

const sql = <Row extends QueryResultRow>(text: string): Promise<Row[]> => query(server.url, text);
const commit = (): Promise<unknown> => sql(`SELECT pg_logical_emit_message(true, 'test', 'a commit')`);
/** Whether a commit waits, which then waits no longer. */
async function commitWaits(): Promise<boolean> {
  let [waits, ended] = [false, false];
  const work = commit().finally(() => (ended = true));
  await until(async () => {
    const cancelled = await sql(
      `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%a commit%'`,
    );
    return (waits ||= cancelled.length > 0) || ended;
  });
  await work;
  return waits;
}
/** There is no such standby, as if it were cut off. */
const waitForStandby = async (wait: boolean): Promise<void> => {
  Object.assign(limits, PATIENT, wait && SHORT);
  await sql(`ALTER SYSTEM SET synchronous_standby_names = '${wait ? 'nobody' : ''}'`);
  await sql('SELECT pg_reload_conf()');
  // The checkpointer tells the backends later whether they have to wait. It has done so when a commit waits, or waits no
  // longer. Commits of the service itself may wait from then on, as long as this lasts.
  if (wait) return until(commitWaits);
  await commit();
  await until(
    async () => (await sql(`SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)).length === 0,
  );
};
/** Backends whose commit of a new pool waits. What the service writes in the background waits too. */
const committing = async (): Promise<number[]> =>
  (
    await sql<{ pid: number }>(
      // Of a long statement only the beginning can be seen.
      `SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query ~ 'INTO new_pools|WITH attempt'`,
    )
  ).map(({ pid }) => pid);
const newKey = (): string => `standby-${++lastKey}`;
const create = (key?: string): Promise<Response> =>
  app.post(
    '/pools',
    { type: 'individual', initialDeposit: TEN },
    user,
    key ? { 'idempotency-key': key } : {},
  );
/** A request whose commit waits. One that came behind a waiting commit of the service itself ends undone: once more. */
async function waiting(key?: string): Promise<{ answer: Promise<Response> }> {
  for (;;) {
    let ended = false;
    const answer = create(key).finally(() => (ended = true));
    await until(async () => (await committing()).length === 1 || ended);
    if ((await committing()).length === 1) return { answer };
  }
}
const pools = async (): Promise<string[]> =>
  ((await app.get('/pools', user)).body.data as { id: string }[]).map(({ id }) => id);

const UNKNOWN = [503, { success: false, error: 'Service unavailable', code: 'outcome_unknown' }, '1'];
const told = ({ status, body, headers }: Response): unknown[] => [status, body, headers['retry-after']];

it('a write whose commit waits is 503 outcome_unknown in time, its key 409 until it is done, then its answer', async () => {
  await waitForStandby(true);
  const key = newKey();
  const { answer: first } = await waiting(key);
  const second = await create(key);
  expect([second.status, second.body.code, second.headers['retry-after']]).toEqual([
    409,
    'idempotency_in_progress',
    '1',
  ]);
  expect(told(await first)).toEqual(UNKNOWN);
  // Its commit still waits, though nobody is there any more who could hear of it.
  expect((await create(key)).status).toBe(409);
  expect(await pools()).toEqual([]);
  await waitForStandby(false);
  await until(async () => (await create(key)).status === 201);
  const { body } = await create(key);
  expect(await pools()).toEqual([body.data.id]);
});

it('when the server ends the session, the pool is made, but perhaps on no standby: the key gets the answer', async () => {
  await waitForStandby(true);
  const key = newKey();
  const { answer: first } = await waiting(key);
  await sql(`SELECT pg_terminate_backend(${(await committing())[0]})`);
  expect(told(await first)).toEqual(UNKNOWN);
  await waitForStandby(false);
  const again = await create(key);
  expect([again.status, await pools()]).toEqual([201, [again.body.data.id]]);
});

it('a transaction of a module that loses its connection between statements is 503 too', async () => {
  const source = app.nest.get(DataSource);
  const error: unknown = await source
    .transaction(async (manager) => {
      const [{ pid }] = await manager.query<[{ pid: number }]>('SELECT pg_backend_pid() AS pid');
      await sql(`SELECT pg_terminate_backend(${pid})`);
      await until(async () => (await sql(`SELECT FROM pg_stat_activity WHERE pid = ${pid}`)).length === 0);
      await manager.query('SELECT 1');
    })
    .catch((thrown: unknown) => thrown);
  expect(isUnavailable(error)).toBe(true);
  expect(await source.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
});
