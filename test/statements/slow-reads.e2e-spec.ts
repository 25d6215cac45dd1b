import { Client, Pool } from 'pg';
import { LIMITS } from '#platform/postgres/budget';
import { DatabasePool } from '#platform/postgres/database-pool';
import type { Statement } from '#platform/postgres/statement';
import { BatchedPool, SlowPool } from '#platform/statements/batched-pool';
import { SlowReads } from '#platform/statements/slow-reads';
import { until } from '../support/app';
import { eventually } from '../support/chain/chain-bench';
import { PATIENT, type TestDatabase, emptyDatabase } from '../support/database';
import { LOCK_WAITS } from '../support/ledger';

const WIDTH = 4;
/** Far above what a read takes that is not meant to be slow. */
const AMONG_OTHERS_MS = 400;
/** The first value says who asks. */
const CHEAP: Statement = { name: 'cheap', text: 'SELECT $1::text AS who', payer: 0 };
/** Waits while the table is locked. */
const LOCKED: Statement = {
  name: 'locked',
  text: 'SELECT $1::text AS who, $2::int AS page, (SELECT count(*)::int FROM item) AS items',
  payer: 0,
};
/** Takes as many ms as asked for. */
const SLEEP: Statement = {
  name: 'sleep',
  text: 'SELECT $1::text AS who, pg_sleep($2::float8 / 1000)::text AS slept',
  payer: 0,
};

describe('slow reads', () => {
  let database: TestDatabase;
  let admin: Client;
  let observer: Pool;
  let pool: DatabasePool;
  let slow: SlowReads;
  let apart: SlowPool;
  let reads: BatchedPool;
  let outcomes: Record<string, number>;
  /** Whose reads went to the slow connections, in order, and how. A slow machine may cut others, too. */
  let asides: [who: string, outcome: 'cut' | 'known'][];

  beforeAll(async () => {
    database = await emptyDatabase();
    admin = new Client({ connectionString: database.url, application_name: 'admin' });
    await admin.connect();
    observer = new Pool({ connectionString: database.url, max: 1 });
    observer.on('error', () => undefined);
    await admin.query('CREATE TABLE item (id integer PRIMARY KEY)');
  });
  afterAll(async () => {
    await observer.end();
    await admin.end();
    await database.drop();
  });
  beforeEach(() => {
    pool = new DatabasePool({ connectionString: database.url, max: WIDTH + 2, pipeline: true });
    open();
  });
  afterEach(async () => {
    await admin.query('ROLLBACK');
    await pool.end();
  });

  const open = (width = WIDTH, limits = PATIENT, slowWidth = 2): void => {
    outcomes = { cut: 0, known: 0, refused: 0 };
    asides = [];
    slow = new SlowReads({ amongOthersMs: AMONG_OTHERS_MS });
    slow.count = (outcome) => outcomes[outcome]++;
    apart = new SlowPool(pool, slowWidth, slow, limits);
    reads = new BatchedPool(pool, { width, depth: 32 }, limits, {
      slow,
      accept: (work, error) => {
        const outcome = error ? 'cut' : 'known';
        slow.count(outcome);
        asides.push([work.values[0] as string, outcome]);
        apart.accept(work);
      },
    });
  };
  const ask = (statement: Statement, ...values: unknown[]): Promise<Record<string, unknown>[]> =>
    reads.run(statement, values, { writes: false });
  /** For longer than any test takes. */
  const know = (statement: Statement, ...parties: string[]): void => {
    for (const who of parties) slow.note({ statement, values: [who] }, performance.now() + 600_000);
  };
  const outcomesOf = (who: string): string[] =>
    asides.filter(([each]) => each === who).map(([, outcome]) => outcome);
  const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
  const lock = (): Promise<unknown> => admin.query('BEGIN; LOCK TABLE item');
  const unlock = (): Promise<unknown> => admin.query('COMMIT');
  /** Statements that wait for the lock. */
  const waiting = async (): Promise<number> => (await observer.query(LOCK_WAITS)).rowCount!;
  const areWaiting = (count: number): Promise<unknown> =>
    eventually(`${count} statements to wait`, waiting, (found) => found === count, 30_000);
  /** All connections are open, and free: none that opens later takes what was meant for several. */
  const warm = async (): Promise<void> => {
    await Promise.all(range(40).map((i) => ask(CHEAP, `warm ${i}`)));
    await until(() => pool.idleCount === WIDTH);
  };

  /** Cheap reads of others, many times. */
  const others = async (): Promise<void> => {
    for (let round = 0; round < 20; round++) await Promise.all(range(8).map((i) => ask(CHEAP, `other ${i}`)));
  };

  it('of one caller let every cheap read of others pass', async () => {
    await warm();
    await lock();
    let ended = 0;
    const dear = range(24).map((page) => ask(LOCKED, 'dear', page).finally(() => ended++));
    // While they are new, and later, when they are known.
    await others();
    await until(() => outcomesOf('dear').includes('cut'));
    await areWaiting(1);
    await others();
    expect(ended).toBe(0);
    await unlock();
    expect(await Promise.all(dear)).toEqual(range(24).map((page) => [{ who: 'dear', page, items: 0 }]));
    expect(outcomes.refused).toBe(0);
    expect(outcomesOf('dear')).toHaveLength(24);
    expect(outcomesOf('dear').filter((each) => each === 'cut').length).toBeLessThanOrEqual(WIDTH);
  });

  it('of one caller leave a connection to others also if nothing ends them', async () => {
    await warm();
    slow.limitMs = () => 60_000;
    await lock();
    const dear = range(24).map((page) => ask(LOCKED, 'dear', page));
    await areWaiting(WIDTH - 1);
    await others();
    await unlock();
    await Promise.all(dear);
    // Whatever the order, every share came back.
    expect(await Promise.all(range(40).map((page) => ask(LOCKED, 'dear', page)))).toHaveLength(40);
  });

  it('of many callers let every cheap read of others pass', async () => {
    await warm();
    // Every connection has prepared it, so that it is cut soon.
    await Promise.all(range(40).map((i) => ask(LOCKED, `warm ${i}`, 1)));
    await lock();
    let ended = 0;
    const dear = range(24).map((i) => ask(LOCKED, `dear ${i}`, 1).finally(() => ended++));
    await others();
    await until(() => range(24).every((i) => outcomesOf(`dear ${i}`).includes('cut')));
    await areWaiting(2);
    await others();
    expect(ended).toBe(0);
    await unlock();
    await Promise.all(dear);
  });

  it('that are the same share an answer', async () => {
    await warm();
    await admin.query('CREATE SEQUENCE runs');
    const text = `SELECT nextval('runs')::int AS run, $1::text AS who, pg_sleep(2.2)::text AS slept`;
    const counted = { name: 'counted', text, payer: 0 };
    // The first one is cut off, and has counted.
    expect(await ask(counted, 'one')).toMatchObject([{ run: 2 }]);
    expect(outcomesOf('one')).toEqual(['cut']);
    const again = await Promise.all([ask(counted, 'one'), ask(counted, 'one'), ask(CHEAP, 'one')]);
    expect(again).toMatchObject([[{ run: 3 }], [{ run: 3 }], [{ who: 'one' }]]);
    // The cheap one may be among them.
    expect(outcomesOf('one').slice(0, 3)).toEqual(['cut', 'known', 'known']);
    await admin.query('DROP SEQUENCE runs');
  });

  it('wait for their turn: a caller with many does not keep back one with few', async () => {
    // With two connections the answers need not come in the order of turns.
    open(WIDTH, PATIENT, 1);
    const order: string[] = [];
    know(LOCKED, 'many', 'few', 'some');
    await lock();
    const asked = (who: string, count: number): Promise<unknown>[] =>
      range(count).map((page) => ask(LOCKED, who, page).then(() => order.push(who)));
    const all = asked('many', 10);
    await areWaiting(1);
    all.push(...asked('some', 2), ...asked('few', 1));
    await unlock();
    await Promise.all(all);
    expect(order.indexOf('few')).toBeLessThan(3);
    expect(order.lastIndexOf('some')).toBeLessThan(6);
  });

  it('are refused beyond what one caller may have waiting, and others are not', async () => {
    know(LOCKED, 'many', 'few');
    await lock();
    const first = ask(LOCKED, 'many', -1);
    await areWaiting(1);
    const many = Promise.allSettled(range(40).map((page) => ask(LOCKED, 'many', page)));
    const same = range(40).map(() => ask(LOCKED, 'many', 0));
    const few = ask(LOCKED, 'few', 1);
    expect(outcomes.refused).toBe(16);
    await unlock();
    await Promise.all([first, few, ...same]);
    expect((await many).filter(({ status }) => status === 'rejected')).toHaveLength(16);
  });

  it('are refused in time, when those before them take too long', async () => {
    await warm();
    open(WIDTH, { ...LIMITS, sendMs: 200, resendMs: 300 });
    slow.limitMs = () => 60_000;
    know(SLEEP, 'a', 'b', 'c');
    // So it is the turn of the others.
    await ask(SLEEP, 'c', 0);
    const [, , late, cheap] = await Promise.allSettled([
      ask(SLEEP, 'a', 1500),
      ask(SLEEP, 'b', 1500),
      ask(SLEEP, 'c', 1),
      ask(CHEAP, 'c'),
    ]);
    expect(late).toMatchObject({ reason: { message: 'all database connections are busy' } });
    expect(cheap).toMatchObject({ value: [{ who: 'c' }] });
  });

  it('do not hold the only connection', async () => {
    open(1);
    await ask(CHEAP, 'one');
    await ask(LOCKED, 'one', 1);
    await lock();
    const dear = ask(LOCKED, 'dear', 1);
    await others();
    await unlock();
    await dear;
    expect(outcomesOf('dear')).toEqual(['cut']);
  });

  it('are sent again when a pooler has lost their limit, or the connection ends', async () => {
    await warm();
    know(LOCKED, 'dear');
    await ask(LOCKED, 'dear', 1);
    const clients = await Promise.all(range(pool.totalCount).map(() => pool.connect()));
    for (const client of clients) {
      await client.query('DEALLOCATE ALL');
      client.release();
    }
    await others();
    expect(await ask(LOCKED, 'dear', 2)).toMatchObject([{ page: 2 }]);
    await lock();
    const dear = ask(LOCKED, 'dear', 3);
    await areWaiting(1);
    await observer.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`);
    await unlock();
    expect(await dear).toMatchObject([{ page: 3 }]);
  });

  it('are not those that only together take longer than the limit', async () => {
    await warm();
    // No single read takes this long, even on a slow machine.
    slow.limitMs = () => 1000;
    await Promise.all(range(40).map((i) => ask(SLEEP, `warm ${i}`, 0)));
    expect(await Promise.all(range(130).map((i) => ask(SLEEP, `user ${i}`, 40)))).toHaveLength(130);
    expect(outcomes).toEqual({ cut: 0, known: 0, refused: 0 });
  });
});
