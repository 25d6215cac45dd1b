import { setTimeout } from 'node:timers/promises';
import { Client, Pool } from 'pg';
import { LIMITS, type TimeLimits } from '#platform/postgres/budget';
import { DatabasePool } from '#platform/postgres/database-pool';
import type { Statement } from '#platform/postgres/statement';
import { ReadPool, SlowReads } from '#platform/statements/slow-reads';
import type { Work } from '#platform/statements/statement-pool';
import { WritePool } from '#platform/statements/write-pool';
import { until } from '../support/app';
import { eventually } from '../support/chain/chain-bench';
import { PATIENT, type TestDatabase, emptyDatabase } from '../support/database';
import { LOCK_WAITS } from '../support/ledger';

const WIDTH = 4;
/** Far above what a read takes that is not meant to be slow. */
const AMONG_OTHERS_MS = 200;
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
  let writePool: DatabasePool;
  let slow: SlowReads;
  let reads: ReadPool;
  /** Whose reads left the others, in order, and how. A slow machine may cut others, too. */
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
    [pool, writePool] = [WIDTH, 2].map((max) => new DatabasePool({ connectionString: database.url, max }));
    open();
  });
  afterEach(async () => {
    await admin.query('ROLLBACK');
    await Promise.all([pool.end(), writePool.end()]);
  });

  const open = (width = WIDTH, own: Partial<TimeLimits> = {}, places = 2): void => {
    const limits = { ...PATIENT, ...own, amongOthersMs: AMONG_OTHERS_MS };
    asides = [];
    slow = new SlowReads(new WritePool(writePool, limits), places);
    const accept = slow.accept.bind(slow);
    slow.accept = (work, outcome) => {
      asides.push([work.values[0] as string, outcome]);
      accept(work, outcome);
    };
    pool.options.max = width;
    reads = new ReadPool(pool, limits, slow);
  };
  type Rows = Promise<Record<string, unknown>[]>;
  const ask = (statement: Statement, ...values: unknown[]): Rows =>
    reads.run(statement, values, { writes: false });
  /** As if it had been cut. */
  const askApart = (statement: Statement, ...values: unknown[]): Rows =>
    new Promise((resolve, reject) => {
      const callback: Work['callback'] = (error, rows) => (error ? reject(error) : resolve(rows!));
      slow.accept({ statement, values, writes: false, requested: performance.now(), callback }, 'cut');
    });
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

  it.each([
    ['one caller', () => 'dear'],
    ['many callers', (i: number) => `dear ${i}`],
  ])('of %s let every cheap read of others pass', async (_, callerOf) => {
    await warm();
    await lock();
    let ended = 0;
    const dear = range(16).map((page) => ask(LOCKED, callerOf(page), page).finally(() => ended++));
    await others();
    // While they are new, and later, when one waits alone.
    await until(() => range(16).every((page) => outcomesOf(callerOf(page)).length > 0));
    await areWaiting(callerOf(0) === callerOf(1) ? 1 : 2);
    await others();
    expect(ended).toBe(0);
    await unlock();
    expect(await Promise.all(dear)).toEqual(range(16).map((i) => [{ who: callerOf(i), page: i, items: 0 }]));
    // One cut on each connection, and the others of the same caller are known.
    if (callerOf(0) === callerOf(1))
      expect(outcomesOf('dear').filter((each) => each === 'cut').length).toBeLessThanOrEqual(WIDTH);
  });

  it('that are the same share an answer, also if they have no caller', async () => {
    await admin.query('CREATE SEQUENCE runs');
    const counted = { name: 'counted', text: `SELECT nextval('runs')::int AS run, pg_sleep(2.2)::text` };
    const [first, ...later] = [1, 2, 3].map(() => askApart(counted));
    expect(await first).toMatchObject([{ run: 1 }]);
    expect(await Promise.all(later)).toMatchObject([[{ run: 2 }], [{ run: 2 }]]);
    // Nothing of it is slow any more.
    await until(() => !slow.has({ statement: counted, values: [] }));
    await admin.query('DROP SEQUENCE runs');
  });

  it('wait for their turn: a caller with many does not keep back one with few', async () => {
    // With two connections the answers need not come in the order of turns.
    open(WIDTH, {}, 1);
    const order: string[] = [];
    await lock();
    const asked = (who: string, count: number): Promise<unknown>[] =>
      range(count).map((page) => askApart(LOCKED, who, page).then(() => order.push(who)));
    const all = asked('many', 10);
    await areWaiting(1);
    all.push(...asked('some', 2), ...asked('few', 1));
    await unlock();
    await Promise.all(all);
    expect(order.indexOf('few')).toBeLessThan(4);
    expect(order.lastIndexOf('some')).toBeLessThan(6);
  });

  it('are refused beyond what one caller may have waiting, and others are not', async () => {
    await lock();
    const first = askApart(LOCKED, 'many', -1);
    await areWaiting(1);
    const many = Promise.allSettled(range(40).map((page) => ask(LOCKED, 'many', page)));
    const same = range(40).map(() => ask(LOCKED, 'many', 0));
    const few = askApart(LOCKED, 'few', 1);
    await areWaiting(2);
    await unlock();
    await Promise.all([first, few, ...same]);
    expect((await many).filter(({ status }) => status === 'rejected')).toHaveLength(16);
  });

  it.each([
    ['the same', () => 0],
    ['of many callers', (i: number) => i],
  ])('are refused at once when too many wait, %s', async (_, callerOf) => {
    await lock();
    const first = askApart(LOCKED, 'first', 0);
    const second = askApart(LOCKED, 'second', 0);
    await areWaiting(2);
    const results = Promise.allSettled(range(1010).map((i) => askApart(LOCKED, `${callerOf(i)}`, 0)));
    expect(slow.waiting).toBe(1000);
    await unlock();
    await Promise.all([first, second]);
    expect((await results).map(({ status }) => status)).toEqual(
      range(1010).map((i) => (i < 1000 ? 'fulfilled' : 'rejected')),
    );
  });

  it('are refused in time, when those before them take too long', async () => {
    await warm();
    open(WIDTH, { ...LIMITS, sendMs: 200, resendMs: 300 });
    const [, , late, cheap] = await Promise.allSettled([
      askApart(SLEEP, 'a', 1500),
      askApart(SLEEP, 'b', 1500),
      askApart(SLEEP, 'c', 1),
      ask(CHEAP, 'c'),
    ]);
    expect(late).toMatchObject({ reason: { message: 'slow reads take all their connections' } });
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

  it('are not those that only together take longer than the limit', async () => {
    await warm();
    // No single read takes this long, even on a slow machine.
    slow.limitMs = () => 1000;
    await Promise.all(range(40).map((i) => ask(SLEEP, `warm ${i}`, 0)));
    expect(await Promise.all(range(130).map((i) => ask(SLEEP, `user ${i}`, 40)))).toHaveLength(130);
    expect(asides).toEqual([]);
  });

  it('have more time where statements are not prepared, and while reads of many callers are slow', async () => {
    const limitMs = (...prepared: Statement[]): number => {
      const parsedStatements = Object.fromEntries(prepared.map(({ name, text }) => [name, text]));
      return slow.limitMs({ connection: { parsedStatements } } as never, [{ statement: CHEAP, values: [] }]);
    };
    expect([limitMs(CHEAP), limitMs(LOCKED)]).toEqual([200, 1000]);
    await lock();
    const many = range(10).map((i) => askApart(LOCKED, `${i}`, 0));
    expect(limitMs(CHEAP)).toBe(1000);
    await unlock();
    await Promise.all(many);
    expect(limitMs(CHEAP)).toBe(200);
  });

  it('share an answer in the time of the last one', async () => {
    open(WIDTH, { resendMs: 3000 }, 1);
    await lock();
    const other = askApart(LOCKED, 'other', 0);
    const first = askApart(LOCKED, 'a', 0);
    await setTimeout(1500);
    const last = askApart(LOCKED, 'a', 0);
    await expect(first).rejects.toMatchObject({ message: 'slow reads take all their connections' });
    await unlock();
    await other.catch(() => undefined);
    expect(await last).toMatchObject([{ who: 'a' }]);
  });
});
