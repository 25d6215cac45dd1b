import { Client } from 'pg';
import { Database } from '../src/database/database';
import { DatabasePool } from '../src/database/database-pool';
import { JoinedWrites } from '../src/database/joined-writes';
import { PipelinedPool } from '../src/database/pipelined-pool';
import { DatabaseUnavailable, OutcomeUnknown, isUnavailable } from '../src/database/unavailable';
import { type Response, type SignedIn, TEN, until, useApp } from './support/app';
import { foldOutbox, type PublishedRow, READ_ALL } from './support/outbox';
import { differences } from './support/recount';
import { Proxy } from './support/proxy';

jest.setTimeout(120_000);

const app = useApp();
const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

describe('calls of a statement', () => {
  const INSERT = {
    name: 'insert_items',
    text: 'INSERT INTO item SELECT * FROM unnest($1::int[], $2::text[]) RETURNING id, label, xmin::text AS transaction',
  };
  type Row = { id: number; label: string | null; transaction: string };
  const pools: DatabasePool[] = [];
  let admin: Client;

  beforeAll(async () => {
    admin = new Client({ connectionString: app.database.url, application_name: 'admin' });
    await admin.connect();
    await admin.query('CREATE TABLE item (id integer PRIMARY KEY, label text)');
  });
  beforeEach(() => admin.query('TRUNCATE item'));
  afterEach(async () => {
    await admin.query('ROLLBACK');
    for (const pool of pools.splice(0)) await pool.end();
  });
  afterAll(() => admin.end());

  const open = (connectionString = app.database.url): JoinedWrites => {
    const options = '-c lock_timeout=300ms';
    const pool = new DatabasePool({ connectionString, max: 3, pipeline: true, options });
    pools.push(pool);
    return new JoinedWrites(new PipelinedPool(pool, { width: 3, depth: 4 }), INSERT);
  };
  const insert = (writes: JoinedWrites, ids: number[], size = 1): Promise<Row[]>[] =>
    ids.map((id) =>
      writes.run<Row>([range(size).map((n) => id + n * 10_000), Array<string | null>(size).fill(null)]),
    );
  const stored = async (): Promise<number[]> =>
    (await admin.query<{ id: number }>('SELECT id FROM item ORDER BY id')).rows.map(({ id }) => id);
  const transactions = async (): Promise<number> =>
    (await admin.query('SELECT DISTINCT xmin::text FROM item')).rowCount!;
  const waiting = async (): Promise<number> =>
    (
      await app.sql(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%INTO item%'
         AND wait_event_type = 'Lock'`,
      )
    ).length;

  it('that come while two are under way are one transaction, and each gets the rows of all', async () => {
    const answers = await Promise.all(insert(open(), range(100)));
    for (const [id, rows] of answers.entries())
      expect(rows).toContainEqual(expect.objectContaining({ id, label: null }));
    expect(answers.map(({ length }) => length)).toEqual(
      [1, 1, 32, 32, 32, 2].flatMap((size) => Array<number>(size).fill(size)),
    );
    expect(await transactions()).toBe(6);
    expect(await stored()).toEqual(range(100));
  });

  it('keep their elements together, whatever is in them', async () => {
    const writes = open();
    const labels = ['{}', 'a,b', '"', '\\', 'NULL', null, '', ' x ', '{"a"}', "'", '\n', 'ü'];
    await Promise.all(labels.map((label, id) => writes.run([[id], [label]])));
    const { rows } = await admin.query<Row>('SELECT label FROM item ORDER BY id');
    expect(rows.map(({ label }) => label)).toEqual(labels);
  });

  it('with large arrays are fewer', async () => {
    await Promise.all(insert(open(), range(10), 100));
    expect(await transactions()).toBe(6);
    await admin.query('TRUNCATE item');
    await Promise.all(insert(open(), range(4), 300));
    expect(await transactions()).toBe(4);
  });

  it('fail alone', async () => {
    await admin.query('INSERT INTO item VALUES (7), (20)');
    const ids = [...range(30), 5];
    const results = await Promise.allSettled(insert(open(), ids));
    const failed = results.flatMap((result, i) =>
      result.status === 'rejected' ? [[ids[i], (result.reason as { code: string }).code]] : [],
    );
    expect(failed.sort()).toEqual([20, 5, 7].map((id) => [id, '23505']));
    expect(await stored()).toEqual(range(30));
  });

  it('are refused at once when too many wait', async () => {
    await admin.query('BEGIN; LOCK TABLE item');
    const writes = open();
    const results = Promise.allSettled(insert(writes, range(1100)));
    expect(writes.waiting).toBe(1000);
    await until(async () => (await waiting()) > 0);
    await admin.query('ROLLBACK');
    const refused = (await results).flatMap((result, i) => (result.status === 'rejected' ? [i] : []));
    expect(refused).toEqual(range(98).map((i) => 1002 + i));
    expect(await stored()).toEqual(range(1002));
  });

  it('behind a lock are refused in time, and are never done', async () => {
    const writes = open();
    await Promise.all(insert(writes, [5000, 5001]));
    await admin.query('BEGIN; LOCK TABLE item');
    const began = performance.now();
    const results = await Promise.allSettled(insert(writes, range(200)));
    // Time of the server's own limits, which no fast machine shortens.
    expect(performance.now() - began).toBeGreaterThan(300);
    for (const result of results) expect(isUnavailable((result as PromiseRejectedResult).reason)).toBe(true);
    await admin.query('ROLLBACK');
    await Promise.all(insert(writes, [5002]));
    expect(await stored()).toEqual([5000, 5001, 5002]);
  });

  it('on a lost connection may all have been done', async () => {
    const proxy = await Proxy.start(app.database.url);
    try {
      const writes = open(proxy.url);
      await Promise.all(insert(writes, [5000, 5001]));
      await admin.query('BEGIN; LOCK TABLE item');
      const results = Promise.allSettled(insert(writes, [0, 1]));
      await until(async () => (await waiting()) === 2);
      proxy.restore();
      for (const result of await results)
        expect((result as PromiseRejectedResult).reason).toBeInstanceOf(OutcomeUnknown);
    } finally {
      await admin.query('ROLLBACK');
      await proxy.stop();
    }
  });

  it('without a database are all refused', async () => {
    const results = await Promise.allSettled(
      insert(open('postgres://postgres@127.0.0.1:1/none'), range(100)),
    );
    for (const result of results)
      expect((result as PromiseRejectedResult).reason).toBeInstanceOf(DatabaseUnavailable);
  });
});

describe('pools that are made at the same time', () => {
  let users: SignedIn[];
  beforeAll(async () => {
    await app.listen();
    users = [await app.signIn(), await app.signIn(), await app.signIn()];
  });

  const create = (i: number, fields: object, key?: string): Promise<Response> =>
    app.post(
      '/pools',
      { initialDeposit: `${BigInt(TEN) + BigInt(i)}`, ...fields },
      users[i % users.length],
      key === undefined ? {} : { 'idempotency-key': key },
    );
  const TYPES = ['individual', 'cooperative', 'lottery', 'rotating'];
  /** Makes all that run together wait for one another, so that some are joined. */
  const together = async <T>(requests: () => Promise<T>[]): Promise<T[]> => {
    const client = new Client({ connectionString: app.database.url });
    await client.connect();
    try {
      await client.query('BEGIN; LOCK TABLE pools');
      const answers = Promise.all(requests());
      await until(() => app.nest.get(Database, { strict: false }).connections.waiting > 3);
      await client.query('ROLLBACK');
      return await answers;
    } finally {
      await client.end();
    }
  };
  const transactionsOf = async (ids: string[]): Promise<number> =>
    (await app.sql('SELECT DISTINCT xmin::text FROM pools WHERE id = ANY($1)', [ids])).length;

  it.each(['without keys', 'with keys'])('are whole, and all that is derived is right: %s', async (how) => {
    const [{ count: before }] = await app.sql<{ count: number }>('SELECT count(*)::int FROM pools');
    const answers = await together(() =>
      range(10).map((i) => {
        const members = range(i).map((n) => `0x${`${i}${n}`.padStart(40, 'a')}`);
        const fields = { type: TYPES[i % 4], members, autoCompound: i % 2 === 0 };
        return create(i, fields, how === 'with keys' ? `together-${i}` : undefined);
      }),
    );
    const ids = answers.map(({ body }) => body.data.id as string);
    expect(answers.map(({ status }) => status)).toEqual(range(10).map(() => 201));
    expect(await transactionsOf(ids)).toBeLessThan(10);
    for (const [i, { body }] of answers.entries()) {
      const { data } = (await app.get(`/pools/${body.data.id}`, users[i % 3])).body;
      expect(data).toMatchObject({
        type: TYPES[i % 4],
        balance: `${BigInt(TEN) + BigInt(i)}`,
        autoCompound: i % 2 === 0,
        owner: { address: users[i % 3].address },
        transactions: [{ id: body.data.depositId, status: 'PENDING' }],
      });
      expect(data.memberAddresses).toEqual(range(i).map((n) => `0x${`${i}${n}`.padStart(40, 'a')}`));
    }
    const [{ count: after }] = await app.sql<{ count: number }>('SELECT count(*)::int FROM pools');
    expect(after - before).toBe(10);
    expect(await differences(app)).toEqual([]);
    const told = foldOutbox(await app.sql<PublishedRow>(READ_ALL)).map(({ what }) => what);
    for (const id of ids) expect(told).toContain(`pool.created ${id}`);
  });

  it('fail alone when a user has been deleted', async () => {
    const gone = await app.signIn();
    await app.sql('DELETE FROM users WHERE id = $1', [gone.user.id]);
    users.push(gone);
    const answers = await together(() => range(12).map((i) => create(i, { type: 'lottery' })));
    users.pop();
    expect(answers.map(({ status }) => status)).toEqual(range(12).map((i) => (i % 4 === 3 ? 401 : 201)));
    expect(answers[3].body).toMatchObject({ code: 'token_revoked' });
    expect(await differences(app)).toEqual([]);
  });

  it('with one key are one pool, and do not hold up those of other keys', async () => {
    const key = (i: number): string => (i % 2 === 0 ? 'shared' : `own-${i}`);
    const answers = await together(() => range(12).map((i) => create(3, { type: 'rotating' }, key(i))));
    const own = answers.filter((_, i) => i % 2 === 1);
    expect(own.map(({ status }) => status)).toEqual(own.map(() => 201));
    const shared = answers.filter((_, i) => i % 2 === 0);
    for (const { status } of shared) expect([201, 409]).toContain(status);
    const made = [...shared, ...own].filter(({ status }) => status === 201);
    expect(new Set(made.map(({ body }) => body.data.id as string)).size).toBe(7);
    expect(await differences(app)).toEqual([]);
  });
});
