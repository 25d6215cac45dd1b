import { namedStatementSettings } from '#platform/database/data-source';
import { Database } from '#platform/database/database';
import { statement } from '#platform/postgres/statement';
import { isUnavailable } from '#platform/postgres/unavailable';
import { TestApp, until } from '../support/app';
import { PATIENT } from '../support/database';

interface Asked {
  caller: string;
  page: number;
}
const TYPES = { caller: 'text', page: 'integer' } as const;
/** Waits while the table is locked. */
const DEAR = statement<Asked, { page: number }>(
  'dear_list',
  TYPES,
  'SELECT :page AS page, (SELECT count(*) FROM dear WHERE :caller IS NOT NULL) AS found',
  { chargedTo: 'caller' },
);
/** Reads of another statement beside those, which are 24. */
const OTHERS = 5;
const limits = { ...PATIENT, amongOthersMs: 300 };
/** Settings of a URL replace those of the start packet, as a pooler's do. */
const AS_BEHIND_A_POOLER = Object.entries(
  namedStatementSettings({ DATABASE_URL: '', DATABASE_POOL_SIZE: 20, limits }),
)
  .map(([name, value]) => `-c ${name}=${value}`)
  .join(' ');

describe.each([
  ['of 20 connections', '20', ''],
  ['of 4 connections', '4', ''],
  ['behind a pooler that drops settings', '20', AS_BEHIND_A_POOLER],
])('slow reads of a service %s', (_, size, options) => {
  const app = new TestApp();
  beforeAll(() =>
    app.start(
      {},
      undefined,
      async ({ url }) => ({
        DATABASE_POOL_SIZE: size,
        DATABASE_URL: options ? `${url}?options=${encodeURIComponent(options)}` : url,
      }),
      { limits },
    ),
  );
  afterAll(() => app.stop());

  it('run apart, over no more connections, and others do not wait for them', async () => {
    const database = app.nest.get(Database);
    const caller = await app.signIn();
    const locker = await app.connect();
    await locker.query('CREATE TABLE dear ()');
    await locker.query('BEGIN; LOCK TABLE dear');
    const dear = Promise.allSettled(
      Array.from({ length: 24 }, (_each, page) => database.read(DEAR, { caller: 'dear', page })),
    );
    let ended = false;
    void dear.then(() => (ended = true));
    let beside = 0;
    for (let round = 0; round < OTHERS; round++) {
      expect((await app.get('/pools', caller)).status).toBe(200);
      if (!ended) beside++;
    }
    expect(beside).toBeGreaterThan(0);
    await until(async () => (await app.metric('slow_reads_total{outcome="known"}')) > 0);
    await locker.query('COMMIT');
    for (const each of await dear)
      if (each.status === 'rejected') expect(isUnavailable(each.reason)).toBe(true);
    const { busy, idle } = database.connections;
    expect(busy + idle).toBeLessThanOrEqual(Number(size));
  });
});
