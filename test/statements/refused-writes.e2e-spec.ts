import { Database } from '#platform/database/database';
import { TEN, type SignedIn, until, useApp } from '../support/app';
import { PATIENT, QUICK } from '../support/database';

const limits = { ...PATIENT };
const app = useApp({ DATABASE_POOL_SIZE: '2' }, { limits });
let user: SignedIn;

beforeAll(async () => {
  user = await app.signIn();
});
afterEach(() => Object.assign(limits, PATIENT));

/** What the service's connections are doing. */
const atWork = async (state: string): Promise<number> =>
  (
    await app.sql(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'api' AND ${state}`,
    )
  ).length;

it('divides its connections: planner settings for named statements, the defaults for TypeORM', async () => {
  const { DataSource } = await import('typeorm');
  const rows = await app.nest.get(DataSource).query<{ name: string; setting: string; boot_val: string }[]>(
    `SELECT name, setting, boot_val FROM pg_settings
     WHERE name LIKE 'enable_%' OR name IN ('plan_cache_mode', 'lock_timeout', 'statement_timeout', 'jit')`,
  );
  expect(rows.length).toBeGreaterThan(20);
  expect(rows.filter(({ setting, boot_val }) => setting !== boot_val)).toEqual([]);
  // One that the service gave up may end later.
  await until(async () => (await atWork('true')) <= 2);
});

it.each(['pools', 'transactions', 'pool_totals', 'users'])(
  'while %s is locked, what is unavailable is not done, and what is answered 201 is',
  async (table) => {
    // Released before, about when and after the deadline is reached.
    for (const seconds of [0.1, QUICK.deadlineMs / 1000, 1.2]) {
      const before = await app.sql('SELECT id FROM pools');
      const holder = await app.connect();
      await holder.query(`BEGIN; LOCK TABLE ${table}`);
      const lock = holder.query(`SELECT pg_sleep(${seconds}); COMMIT`);
      Object.assign(limits, QUICK);
      const create = () => app.post('/pools', { type: 'lottery', initialDeposit: TEN }, user);
      const busy = Promise.all([create(), create(), create(), create()]);
      // What needs no database is answered meanwhile, and no more connections are opened.
      expect((await app.get('/health/live')).status).toBe(200);
      const { busy: used, idle } = app.nest.get(Database).connections;
      expect(used + idle).toBeLessThanOrEqual(2);
      const first = await busy;
      const later = await Promise.all([create(), create(), create(), create()]);
      await lock;
      await until(async () => (await atWork(`state = 'active'`)) === 0);
      const after = await app.sql<{ id: string }>('SELECT id FROM pools');
      const answers = [...first, ...later];
      const done = answers.filter(({ status }) => status === 201).map(({ body }) => body.data.id as string);
      expect(answers.filter(({ status }) => status === 503)).toHaveLength(answers.length - done.length);
      expect(after.map(({ id }) => id)).toEqual(expect.arrayContaining(done));
      // A commit that was under way goes on.
      const unknown = answers.filter(({ body }) => body.code === 'outcome_unknown');
      const more = after.length - before.length - done.length;
      expect(more).toBeGreaterThanOrEqual(0);
      expect(more).toBeLessThanOrEqual(unknown.length);
      Object.assign(limits, PATIENT);
    }
  },
);
