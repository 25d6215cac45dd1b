import { execFile, type ExecFileException, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '#dev/ports';
import { TEN } from '../../support/app';
import {
  OBJECTS,
  type TestDatabase,
  emptyDatabase,
  freshDatabase,
  query,
  urlAs,
  connectTo,
} from '../../support/database';
import { Fleet, report, seconds } from '../../support/processes/fleet';
import { BUILT, Replica, eventually } from '../../support/processes/processes';
import { Balancer } from './balancer';
import { type Answer, HttpClient, named, signIn, tally } from '../http';

const run = promisify(execFile);
const ROOT = path.join(__dirname, '../../..');
/** The figure of a large installation is a million: UPGRADE_TRANSACTIONS=1000000. */
const TRANSACTIONS = Number(process.env.UPGRADE_TRANSACTIONS ?? 20_000);
const POOLS = 1000;
jest.setTimeout(240_000 + TRANSACTIONS);

/**
 * Trial migrations of a next version, as JavaScript, since it is built already: a column, an index that is built while
 * others write, and a table that is split. A third release takes the column away again.
 */
const EXPAND: Record<string, string> = {
  '4000000000000-Column': `up: (q) => q.query('ALTER TABLE pools ADD COLUMN note text'),
    down: (q) => q.query('ALTER TABLE pools DROP COLUMN note')`,
  '4000000000001-Index': `transaction: false,
    up: async (q) => {
      await q.query('DROP INDEX CONCURRENTLY IF EXISTS transactions_trial_idx');
      await q.query('CREATE INDEX CONCURRENTLY transactions_trial_idx ON transactions (account, created_at)');
    },
    down: (q) => q.query('DROP INDEX CONCURRENTLY transactions_trial_idx')`,
  '4000000000002-Split': `up: (q) => q.query(\`
      CREATE TABLE user_sessions (
        user_id uuid NOT NULL,
        generation integer NOT NULL,
        CONSTRAINT user_sessions_pkey PRIMARY KEY (user_id),
        CONSTRAINT user_sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users ON DELETE CASCADE
      );
      -- The old version writes the old place, so a trigger keeps the new one.
      CREATE FUNCTION split_users() RETURNS trigger LANGUAGE plpgsql
      SECURITY DEFINER SET search_path = public, pg_temp AS $$
      BEGIN
        INSERT INTO user_sessions VALUES (NEW.id, NEW.session_generation)
        ON CONFLICT ON CONSTRAINT user_sessions_pkey DO UPDATE SET generation = excluded.generation;
        RETURN NULL;
      END $$;
      CREATE TRIGGER split_users AFTER INSERT OR UPDATE OF session_generation ON users
        FOR EACH ROW EXECUTE FUNCTION split_users();
      INSERT INTO user_sessions SELECT id, session_generation FROM users ON CONFLICT DO NOTHING\`),
    down: (q) => q.query('DROP TRIGGER split_users ON users; DROP FUNCTION split_users; DROP TABLE user_sessions')`,
};
const CONTRACT: Record<string, string> = {
  '4100000000000-Contract': `up: (q) => q.query(\`ALTER TABLE pools DROP COLUMN note;
      INSERT INTO required_migrations VALUES ('Contract4100000000000')\`),
    down: (q) => q.query(\`DELETE FROM required_migrations WHERE name = 'Contract4100000000000';
      ALTER TABLE pools ADD COLUMN note text\`)`,
};

/** Changes of functions and triggers in the next version: the text of a file before and after. */
const CHANGES = [
  ['shared', 'SELECT 32', 'SELECT 33'],
  ['pools', '  REFERENCING OLD TABLE AS changed FOR EACH', ' REFERENCING OLD TABLE AS changed FOR EACH'],
];

/** A built version: this one, or a copy of it with more migrations and other functions, whose number is greater. */
class Version {
  constructor(readonly root: string) {}

  static next(of: Version, migrations: Record<string, string>): Version {
    const root = mkdtempSync(path.join(tmpdir(), 'version-'));
    cpSync(path.join(of.root, 'dist'), path.join(root, 'dist'), { recursive: true });
    const version = `${Number(of.version.split('.')[0]) + 1}.0.0`;
    writeFileSync(path.join(root, 'package.json'), JSON.stringify({ version }));
    for (const [file, before, then] of CHANGES) {
      const target = path.join(root, `dist/migrations/functions/${file}.sql`);
      writeFileSync(target, readFileSync(target, 'utf8').replace(before, then));
    }
    symlinkSync(path.join(ROOT, 'node_modules'), path.join(root, 'node_modules'));
    for (const [file, members] of Object.entries(migrations)) {
      const [time, word] = file.split('-');
      writeFileSync(
        path.join(root, `dist/migrations/${file}.js`),
        `exports.Trial = class { constructor() { Object.assign(this, { name: '${word}${time}', ${members} }); } };`,
      );
    }
    const privileges = path.join(root, 'dist/migrations/privileges.sql');
    const text = readFileSync(privileges, 'utf8');
    if (!text.includes('user_sessions'))
      writeFileSync(privileges, text.replace('lottery_totals migrations', '$& user_sessions'));
    return new Version(root);
  }

  get version(): string {
    return (JSON.parse(readFileSync(path.join(this.root, 'package.json'), 'utf8')) as { version: string })
      .version;
  }

  get built(): string {
    return path.join(this.root, 'dist/src');
  }

  /** @param onLine gets what it tells as it goes on */
  async migrate(
    url: string,
    command = 'run',
    onLine: (text: string) => void = () => undefined,
  ): Promise<string> {
    const child = spawn(process.execPath, [path.join(this.built, 'migrate.js'), command], {
      env: { PATH: process.env.PATH, DATABASE_URL: urlAs(url, 'owner') },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let told = '';
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      told += chunk;
      onLine(told);
    });
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    if (code !== 0) throw new Error(`migrate ${command}: ${code}\n${told}`);
    return told;
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

/** Owned by the account that migrates, as deploy/postgres/roles.sql says. */
async function ownDatabase(version: Version): Promise<TestDatabase> {
  // Makes the roles.
  await (await freshDatabase()).drop();
  const database = await emptyDatabase();
  await query(database.url, `ALTER DATABASE "${new URL(database.url).pathname.slice(1)}" OWNER TO savings`);
  await version.migrate(database.url);
  return database;
}

/** Pools with their opening deposits, and further deposits of their owners. The triggers keep all totals. */
const FILL = `
  INSERT INTO users SELECT gen_random_uuid(), '0x' || lpad(to_hex(n), 40, '0'), now() FROM generate_series(1, ${POOLS}) n;
  INSERT INTO new_pools SELECT array_agg(sorted_uuid()), array_agg('individual'::text), array_agg(id),
    array_agg('0x' || repeat('1', 40)), array_agg(false), array_agg('{}'::text), array_agg(now()), array_agg(address::text),
    array_agg(sorted_uuid()), array_agg(1000) FROM users;
  INSERT INTO transactions (id, pool_id, owner_id, by_owner, type, status, account, amount, requested_amount, created_at)
  SELECT sorted_uuid(), p.id, p.owner_id, true, 'DEPOSIT', 'PENDING', u.address, n, n, now() - n * interval '1 second'
  FROM pools p JOIN users u ON u.id = p.owner_id CROSS JOIN generate_series(1, ${TRANSACTIONS / POOLS - 1}) n`;

describe('a database of the last release', () => {
  // Another release, built: UPGRADE_FROM=../1.1.0
  const old = new Version(process.env.UPGRADE_FROM ?? ROOT);
  const next = Version.next(new Version(ROOT), EXPAND);
  const after = Version.next(next, CONTRACT);
  let database: TestDatabase;
  let fleet: Fleet;
  let balancer: Balancer;
  const newer: Replica[] = [];
  afterAll(async () => {
    balancer?.close();
    await Promise.all(newer.map((replica) => replica.end('SIGKILL')));
    await fleet?.stop();
    next.remove();
    after.remove();
  });

  it('is upgraded while both versions serve, taken back once, and upgraded again: no request fails', async () => {
    let from = performance.now();
    const lap = (): string => {
      const took = seconds(performance.now() - from);
      from = performance.now();
      return took;
    };
    const times: Record<string, string> = {};
    database = await ownDatabase(old);
    times.migrated = lap();
    await query(database.url, FILL);
    times[`${TRANSACTIONS} transactions`] = lap();

    fleet = await Fleet.start({
      replicas: 2,
      database,
      built: old.built,
      settings: { DATABASE_URL: urlAs(database.url, 'api') },
    });
    for (let i = 0; i < 2; i++) newer.push(new Replica(await freePort(), fleet.environment, next.built));
    balancer = new Balancer([...fleet.replicas, ...newer].map(({ url }) => url));
    const serving = (...wanted: boolean[]): Promise<void> =>
      eventually(() => balancer.ready.join() === wanted.join());
    const [first, second] = [fleet.replicas, newer];
    await serving(true, true, false, false);

    const answers: Answer[] = [];
    let stopping = false;
    const direct = new HttpClient(fleet.urls[0]);
    const callers = await Promise.all([1, 2, 3].map(() => signIn(direct)));
    direct.close();
    const work = Promise.all(
      callers.map(async ({ token }) => {
        while (!stopping)
          for (const [at, call] of [
            ['/pools', { method: 'POST', body: { type: 'individual', initialDeposit: TEN }, token }],
            ['/pools?limit=5', { token }],
            ['/transactions?limit=5', { token }],
            ['/auth/nonce', {}],
          ] as const)
            answers.push(await balancer.send(at, call));
      }),
    );
    lap();

    // A report that reads a table holds up the migration, and the migration must not hold up requests.
    const reader = await connectTo(urlAs(database.url, 'read_only'));
    await reader.query('BEGIN; SELECT count(*) FROM pools');
    let isHeld = true;
    const told = await next.migrate(database.url, 'run', (text) => {
      if (!isHeld || text.split('trying again').length < 3) return;
      isHeld = false;
      void reader.query('COMMIT');
    });
    await reader.end();
    expect(isHeld).toBe(false);
    times.expanded = `${lap()} (${told
      .replaceAll(/.*trying again\n/g, '')
      .trim()
      .replaceAll('\n', '; ')})`;
    // The old version goes on meanwhile.
    expect(balancer.ready).toEqual([true, true, false, false]);

    const start = (replicas: Replica[]): Promise<unknown> =>
      Promise.all(replicas.map((each) => each.start()));
    const stop = async (replicas: Replica[]): Promise<void> =>
      expect(await Promise.all(replicas.map((each) => each.end('SIGTERM')))).toEqual([0, 0]);
    await start(second);
    await serving(true, true, true, true);
    await stop(first);
    times.replaced = lap();
    await start(first);
    await serving(true, true, true, true);
    await stop(second);
    await serving(true, true, false, false);
    times['taken back'] = lap();
    await old.migrate(database.url);
    expect(await query(database.url, 'SELECT few_memberships() AS few')).toEqual([{ few: 33 }]);
    await start(second);
    await serving(true, true, true, true);
    await stop(first);

    times.again = lap();
    stopping = true;
    await work;
    report('upgrade', { ...times, ...named(tally(answers)) });
    expect(answers.length).toBeGreaterThan(100);
    expect(answers.filter(({ status }) => status >= 400)).toEqual([]);
  });

  it('has the schema of a fresh one, and verify finds nothing', async () => {
    const fresh = await ownDatabase(next);
    try {
      expect(await query(database.url, OBJECTS)).toEqual(await query(fresh.url, OBJECTS));
    } finally {
      await fresh.drop();
    }
    const found = await query(
      database.url,
      `SELECT count(*)::int AS missing FROM users u FULL JOIN user_sessions s
      ON s.user_id = u.id AND s.generation = u.session_generation WHERE u.id IS NULL OR s.user_id IS NULL`,
    );
    expect(found).toEqual([{ missing: 0 }]);
    const verified = await run(process.execPath, [path.join(BUILT, 'verify.js'), '--no-chain'], {
      env: {
        PATH: process.env.PATH,
        ...fleet.environment,
        RPC_URL: 'http://127.0.0.1:9',
        DATABASE_URL: urlAs(database.url, 'operator'),
      },
    }).catch((error: ExecFileException & { stdout: string }) => error);
    expect('code' in verified ? verified : { code: 0 }).toMatchObject({ code: 0 });
  });

  it('is not served any more by a version that lacks what a later one has taken away, until that is undone', async () => {
    await after.migrate(database.url);
    await fleet.replicas[0].start();
    const client = new HttpClient(fleet.urls[0]);
    const ready = async (): Promise<number> => (await client.send('/health/ready')).status;
    expect(await ready()).toBe(503);
    await after.migrate(database.url, 'revert');
    await eventually(async () => (await ready()) === 200);
    client.close();
  });
});
