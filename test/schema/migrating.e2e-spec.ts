import { type Client } from 'pg';
import type { DataSource, MigrationInterface, QueryRunner } from 'typeorm';
import { Migrator } from '#platform/migrating/migrator';
import { VERSION, knownMigrations, problemOf, schemaProblem } from '#platform/migrating/schema';
import { TestApp, until } from '../support/app';
import {
  type TestDatabase,
  emptyDatabase,
  freshDatabase,
  migrationSource,
  query,
  connectTo,
} from '../support/database';

const closes: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closes.splice(0).reverse()) await close();
});

async function database(make: () => Promise<TestDatabase>): Promise<string> {
  const made = await make();
  closes.push(() => made.drop());
  return made.url;
}

async function connection(url: string): Promise<Client> {
  const client = await connectTo(url);
  closes.push(() => client.end());
  return client;
}

/** A data source whose only migrations are these. */
async function sourceOf(url: string, ...migrations: MigrationInterface[]): Promise<DataSource> {
  const source = await migrationSource(url);
  closes.push(() => source.destroy());
  source.migrations.splice(0, source.migrations.length, ...migrations);
  return source;
}

const adding = (column: string): MigrationInterface => ({
  name: `Adds${column}1800000000000`,
  up: (runner: QueryRunner) => runner.query(`ALTER TABLE pools ADD COLUMN ${column} text`),
  down: (runner: QueryRunner) => runner.query(`ALTER TABLE pools DROP COLUMN ${column}`),
});

describe('migrating', () => {
  it('three at once: one runs all, and the others wait for it and find nothing to do', async () => {
    const url = await database(emptyDatabase);
    const lines: string[] = [];
    const ran = await Promise.all(
      [1, 2, 3].map(async () => {
        const source = await migrationSource(url);
        return new Migrator(source, (line) => lines.push(line)).run().finally(() => source.destroy());
      }),
    );
    const worked = ran.filter((names) => names.length > 0);
    expect(worked).toEqual([knownMigrations()]);
    expect(lines.filter((line) => line === 'no migration is pending')).toHaveLength(2);
    expect(lines).toContain('waiting for another process that migrates');
    expect(lines.filter((line) => line.startsWith('functions'))).toHaveLength(1);
    // The time of each is told.
    for (const name of [...knownMigrations(), `functions of ${VERSION}`])
      expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^${name}: \\d+\\.\\d s$`)));
  });

  it('does not hold up requests behind a lock that it waits for, and gets it in the end', async () => {
    const url = await database(freshDatabase);
    const [reader, other] = [await connection(url), await connection(url)];
    await reader.query('BEGIN; SELECT count(*) FROM pools');
    const lines: string[] = [];
    let tried = (): void => undefined;
    const twice = new Promise<void>((resolve) => (tried = resolve));
    const migrator = new Migrator(await sourceOf(url, adding('held')), (line) => {
      lines.push(line);
      if (lines.length === 2) tried();
    });
    const running = migrator.run();
    await twice;
    // It lets go of its place in the queue between two tries, so this is answered while the reader still holds on.
    await other.query('SELECT count(*) FROM pools');
    expect(lines.slice(0, 2)).toEqual(
      Array(2).fill('Addsheld1800000000000: others use what it changes; trying again'),
    );
    await reader.query('COMMIT');
    await expect(running).resolves.toEqual(['Addsheld1800000000000']);
    await other.query('SELECT held FROM pools');
  });

  it('gives up after its time, and leaves nothing half done', async () => {
    const url = await database(freshDatabase);
    const reader = await connection(url);
    await reader.query('BEGIN; SELECT count(*) FROM pools');
    const two: MigrationInterface = {
      name: 'Two1800000000000',
      up: async (runner: QueryRunner) => {
        await runner.query('CREATE TABLE half ()');
        await runner.query('ALTER TABLE pools ADD COLUMN half text');
      },
      down: () => Promise.resolve(),
    };
    const migrator = new Migrator(await sourceOf(url, two), () => undefined, 0);
    await expect(migrator.run()).rejects.toThrow('Two1800000000000: canceling statement due to lock timeout');
    await reader.query('COMMIT');
    const { rows } = await reader.query(`SELECT to_regclass('half') AS half`);
    expect(rows).toEqual([{ half: null }]);
    // The next one can have the lock.
    await expect(new Migrator(await sourceOf(url, two), () => undefined).run()).resolves.toEqual([
      'Two1800000000000',
    ]);
  });

  it('builds an index concurrently while others write, outside a transaction', async () => {
    const url = await database(freshDatabase);
    const writer = await connection(url);
    await writer.query(`BEGIN; INSERT INTO nonces VALUES ('n', NULL, now())`);
    const index: MigrationInterface = {
      name: 'Index1800000000000',
      transaction: false,
      up: async (runner: QueryRunner) => {
        await runner.query('DROP INDEX CONCURRENTLY IF EXISTS nonces_trial_idx');
        await runner.query('CREATE INDEX CONCURRENTLY nonces_trial_idx ON nonces (address)');
      },
      down: (runner: QueryRunner) => runner.query('DROP INDEX CONCURRENTLY nonces_trial_idx'),
    };
    const running = new Migrator(await sourceOf(url, index), () => undefined).run();
    const watcher = await connection(url);
    for (;;) {
      const { rowCount } = await watcher.query(
        `SELECT FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX%' AND wait_event_type = 'Lock' AND datname = current_database()`,
      );
      if (rowCount) break;
    }
    await writer.query('COMMIT');
    await expect(running).resolves.toEqual(['Index1800000000000']);
    const { rows } = await watcher.query(
      `SELECT indisvalid FROM pg_index WHERE indexrelid = 'nonces_trial_idx'::regclass`,
    );
    expect(rows).toEqual([{ indisvalid: true }]);
  });

  describe('functions', () => {
    let url: string;
    let client: Client;
    let lines: string[];
    let run: () => Promise<string[]>;
    beforeEach(async () => {
      url = await database(freshDatabase);
      client = await connection(url);
      const source = await migrationSource(url);
      closes.push(() => source.destroy());
      lines = [];
      run = () => new Migrator(source, (line) => lines.push(line), 0).run();
    });
    /** Another text than that of the files, and the version that is said to have installed it. */
    const installedBy = (version: string, type = 'integer', digest = '0'): Promise<unknown> =>
      client.query(`DROP FUNCTION few_memberships; DROP FUNCTION creating CASCADE;
        CREATE FUNCTION few_memberships() RETURNS ${type} LANGUAGE sql AS 'SELECT 7::${type}';
        COMMENT ON TABLE migrations IS 'functions and privileges of ${version}: ${digest}'`);
    const few = async (): Promise<unknown> =>
      (await client.query('SELECT few_memberships() AS few')).rows[0].few;
    const triggers = async (): Promise<unknown> =>
      (await client.query('SELECT tgname, xmin FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1')).rows;

    it('of an earlier version are replaced together with their triggers, once', async () => {
      const before = (await triggers()) as object[];
      await installedBy('1.0.0');
      await run();
      expect([await few(), ((await triggers()) as object[]).length]).toEqual([32, before.length]);
      expect(lines.splice(0).at(-1)).toMatch(/^functions of /);
      await run();
      expect(lines).toEqual(['no migration is pending']);
    });

    it('of a later version stay, and the older version can work with them', async () => {
      await installedBy('99.0.0');
      await run();
      expect(lines.at(-1)).toBe('the functions of 99.0.0, a later version, stay');
      expect([await few(), await problemOf(client)]).toEqual([7, undefined]);
    });

    it('of a later version that was reverted are replaced; until then older versions serve', async () => {
      await installedBy('99.0.0', 'integer', 'reverted');
      expect(await problemOf(client)).toBeUndefined();
      await run();
      expect(await few()).toBe(32);
    });

    it('are as they were if one of them fails, and the next run installs them', async () => {
      await installedBy('1.0.0', 'bigint');
      await expect(run()).rejects.toThrow('cannot change return type');
      const { rows } = await client.query(`SELECT to_regproc('creating') AS creating`);
      expect([rows, await problemOf(client)]).toEqual([
        [{ creating: null }],
        expect.stringMatching(/^schema is behind: .*functions of 1.0.0/),
      ]);
      await client.query('DROP FUNCTION few_memberships');
      await run();
      expect([await few(), await problemOf(client)]).toEqual([32, undefined]);
    });

    it('are replaced while others write; a trigger that is the same is not touched', async () => {
      const writer = await connection(url);
      await writer.query('BEGIN; LOCK TABLE pools, transactions IN ROW EXCLUSIVE MODE');
      const before = await triggers();
      await client.query('COMMENT ON TABLE migrations IS NULL');
      await run();
      expect(await triggers()).toEqual(before);
      await client.query(
        'COMMENT ON TABLE migrations IS NULL; COMMENT ON TRIGGER pools_fixed ON pools IS NULL',
      );
      await expect(run()).rejects.toThrow('lock timeout');
      await writer.query('COMMIT');
      await run();
      expect(await problemOf(client)).toBeUndefined();
    });

    it('are installed while others read; a trigger that they drop does nothing from then on', async () => {
      await client.query(`CREATE FUNCTION submissions_end() RETURNS trigger LANGUAGE plpgsql
          AS $$ BEGIN RAISE EXCEPTION 'of the version before'; END $$;
        CREATE TRIGGER submissions_end AFTER DELETE ON transactions EXECUTE FUNCTION submissions_end();
        CREATE TRIGGER submissions_follow AFTER DELETE ON transactions EXECUTE FUNCTION submissions_end();
        COMMENT ON TRIGGER submissions_end ON transactions IS 'its digest';
        COMMENT ON TABLE migrations IS NULL`);
      const left = async (): Promise<unknown[]> => {
        const { rows } = await client.query(
          `SELECT obj_description(oid) AS digest FROM pg_trigger WHERE tgname = 'submissions_end'`,
        );
        return rows;
      };
      const reader = await connection(url);
      await reader.query('BEGIN; SELECT FROM transactions');
      const before = lines.length;
      await run();
      expect([await problemOf(client), await left()]).toEqual([undefined, [{ digest: null }]]);
      // Those of a table wait for its lock once: requests queue behind each wait.
      const waits = lines.slice(before).filter((line) => / ON transactions;/.test(line));
      expect(waits).toHaveLength(1);
      expect(lines.at(-1)).toMatch(/^others use what this drops; .*submissions_end/s);
      await client.query('DELETE FROM transactions');
      await reader.query('COMMIT');
      await run();
      const { rows } = await client.query(`SELECT to_regproc('submissions_end') AS function`);
      expect([await left(), rows]).toEqual([[], [{ function: null }]]);
    });
  });

  it('undoes the last one', async () => {
    const url = await database(freshDatabase);
    const source = await migrationSource(url);
    closes.push(() => source.destroy());
    const migrator = new Migrator(source, () => undefined);
    const last = knownMigrations().at(-1);
    expect(await migrator.revert()).toBe(last);
    const client = await connection(url);
    expect(await problemOf(client)).toMatch(
      new RegExp(`behind: run the migrations \\(1 of \\d+ .* first ${last}`),
    );
    expect(await migrator.run()).toEqual([last]);
    expect(await problemOf(client)).toBeUndefined();
  });
});

describe('what a version says of a schema', () => {
  it.each([
    ['nothing where all have run', ['a', 'b'], [], undefined],
    [
      'that some have not run',
      ['a'],
      [],
      /^schema is behind: run the migrations \(1 of 2 have not run, first b\)$/,
    ],
    ['nothing of a later one that only adds', ['a', 'b', 'c'], [], undefined],
    ['that a later one needs a later version', ['a', 'b', 'c'], ['c'], /^schema is ahead: .* \(c has run\)$/],
    ['nothing of one that it knows', ['a', 'b'], ['b'], undefined],
    [
      'that its functions are not installed',
      ['a', 'b'],
      [],
      /^schema is behind: .* of no version, not/,
      null,
    ],
    ['the same of older ones', ['a', 'b'], [], /^schema is behind: .* of 1.9.9, not of 1.10.0\)$/, '1.9.9'],
    ['nothing of later functions', ['a', 'b'], [], undefined, '2.0.0'],
  ])('%s', (_, applied, required, said, functions: string | null = '1.10.0') => {
    const problem = schemaProblem(['a', 'b'], { applied, required, functions }, '1.10.0');
    if (said) expect(problem).toMatch(said);
    else expect(problem).toBeUndefined();
  });

  it('knows its migrations as TypeORM does', async () => {
    const source = await migrationSource(await database(emptyDatabase));
    closes.push(() => source.destroy());
    expect(knownMigrations()).toEqual(source.migrations.map(({ name }) => name));
  });
});

describe('an API on a schema of another version', () => {
  const app = new TestApp();
  afterEach(() => app.stop());

  const refusal = (message: RegExp): object => ({
    status: 503,
    body: {
      success: false,
      code: 'unavailable',
      details: [{ field: 'schema', message: expect.stringMatching(message) }],
    },
  });

  it.each([
    ['behind', `UPDATE migrations SET name = 'x' || name`, `UPDATE migrations SET name = substr(name, 2)`],
    ['ahead', `INSERT INTO required_migrations VALUES ('New1')`, `DELETE FROM required_migrations`],
  ])('that is %s is not ready, says why, and serves once it fits', async (how, spoil, mend) => {
    await app.start({}, undefined, async ({ url }) => (await query(url, spoil), {}));
    const message = new RegExp(`^schema is ${how}: `);
    expect(await app.get('/health/ready')).toMatchObject(refusal(message));
    expect(await app.get('/auth/nonce')).toMatchObject(refusal(message));
    expect((await app.get('/health/live')).status).toBe(200);
    expect((await app.get('/health')).status).toBe(200);
    await query(app.database.url, mend);
    await until(async () => (await app.get('/health/ready')).status === 200);
    expect((await app.get('/auth/nonce')).status).toBe(200);
  });
});
