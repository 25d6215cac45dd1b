import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { QueryResultRow } from 'pg';
import { freePort } from '#dev/ports';
import { type LocalPostgres, accountForServer, findBinaries, startPostgres } from '#dev/postgres';
import { type Response, type SignedIn, TEN, TestApp, until } from '../support/app';
import { PATIENT, migrate, query } from '../support/database';
import { Proxy } from '../support/network/proxy';

/** A standby that streams from a primary. */
class Standby {
  private constructor(
    readonly url: string,
    private readonly data: string,
    private readonly child: ChildProcess,
  ) {}

  /** @returns a copy of the folder of a server that does not run, beside it */
  static async copy(from: string, name: string): Promise<string> {
    const data = join(dirname(from), name);
    await promisify(execFile)('cp', ['-a', from, data]);
    await writeFile(join(data, 'standby.signal'), '');
    return data;
  }

  /** @param primary url of the server that it follows */
  static async start(data: string, primary: string): Promise<Standby> {
    const account = accountForServer();
    const [url, leader] = [new URL(primary), new URL(primary)];
    leader.pathname = '/postgres';
    url.port = `${await freePort()}`;
    const settings = {
      primary_conninfo: leader.href,
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      wal_retrieve_retry_interval: '100ms',
    };
    const flags = Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]);
    const binary = join(await findBinaries(account), 'bin/postgres');
    const child = spawn(binary, ['-D', data, '-p', url.port, ...flags], {
      ...account,
      env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' },
      cwd: '/',
      stdio: 'ignore',
    });
    const standby = new Standby(url.href, data, child);
    await until(() => {
      if (child.exitCode !== null) throw new Error(`the standby in ${data} did not start`);
      return standby
        .sql(`SELECT FROM pg_stat_wal_receiver WHERE status = 'streaming'`)
        .then(({ length }) => length > 0)
        .catch(() => false);
    });
    return standby;
  }

  sql<Row extends QueryResultRow>(text: string): Promise<Row[]> {
    return query<Row>(this.url, text);
  }

  /** Waits until it has replayed all that the server at the url has written. */
  async caughtUp(url: string): Promise<void> {
    const position = await written(url);
    await until(() => this.hasReplayed(position));
  }

  async isBehind(url: string): Promise<boolean> {
    return !(await this.hasReplayed(await written(url)));
  }

  private async hasReplayed(position: string): Promise<boolean> {
    const text = `SELECT pg_last_wal_replay_lsn() >= '${position}' AS done`;
    const [{ done }] = await this.sql<{ done: boolean }>(text);
    return done;
  }

  /** Stops it, and returns its folder. */
  async stop(): Promise<string> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const ended = new Promise((resolve) => this.child.once('exit', resolve));
      this.child.kill('SIGINT');
      await ended;
    }
    return this.data;
  }
}

async function written(url: string): Promise<string> {
  return (await query<{ lsn: string }>(url, 'SELECT pg_current_wal_insert_lsn() AS lsn'))[0].lsn;
}

let dir: string;
let primary: LocalPostgres;
let standby: Standby;
/** What stands between the reader and the two servers. */
let toPrimary: Proxy;
let toStandby: Proxy;
const writer = new TestApp();
const reader = new TestApp();
let user: SignedIn;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'standby-'));
  await chmod(dir, 0o755);
  const start = (): Promise<LocalPostgres> =>
    startPostgres({ dir: join(dir, 'primary'), database: 'savings', port: primary?.port });
  primary = await start();
  await migrate(primary.url);
  await primary.stop();
  const copy = await Standby.copy(primary.dataDir, 'standby');
  primary = await start();
  standby = await Standby.start(copy, primary.url);
  [toPrimary, toStandby] = [await Proxy.start(primary.url), await Proxy.start(standby.url)];
  await writer.start({ DATABASE_URL: primary.url });
  const urls = { DATABASE_URL: toPrimary.url, DATABASE_READ_URL: toStandby.url };
  // Once a read has waited for the standby, the primary still takes it.
  const limits = { ...PATIENT, standbyMs: 1000, sendMs: 5000, resendMs: 5000 };
  await reader.start(urls, undefined, undefined, { limits });
  user = await writer.signIn();
});
afterAll(async () => {
  await reader.stop();
  await writer.stop();
  await toPrimary?.stop();
  await toStandby?.stop();
  await standby?.stop();
  await primary?.stop();
  await rm(dir, { recursive: true, force: true });
});

/** How many reads had an outcome until now, in all apps of this process. */
async function reads(outcome: string): Promise<number> {
  const text = await reader.metrics();
  return Number(new RegExp(`^standby_reads_total{outcome="${outcome}"} (\\d+)$`, 'm').exec(text)![1]);
}

const create = async (): Promise<string> => (await writer.createPool(user)).id as string;
const read = (id: string): Promise<Response> => reader.get(`/pools/${id}`, user);

/** Waits until standbys serve reads. */
async function serving(app = reader): Promise<void> {
  const before = await reads('standby');
  await until(async () => {
    await app.get('/pools', user);
    return (await reads('standby')) > before;
  });
}

async function isPaused(): Promise<boolean> {
  const [{ state }] = await standby.sql<{ state: string }>('SELECT pg_get_wal_replay_pause_state() AS state');
  return state === 'paused';
}

async function pause(): Promise<void> {
  await standby.caughtUp(primary.url);
  await standby.sql('SELECT pg_wal_replay_pause()');
  await until(isPaused);
}

/** Whether the paused standby serves reads, or is behind, because the service or the server has written since. */
async function servesPaused(): Promise<boolean> {
  const before = await reads('standby');
  for (;;) {
    await reader.get('/pools', user);
    if ((await reads('standby')) > before) return true;
    if (await standby.isBehind(primary.url)) return false;
  }
}

/** Runs while the standby replays nothing. @param serving whether it then has all that is written so far */
async function paused(work: () => Promise<void>, { serving: serves = false } = {}): Promise<void> {
  await pause();
  while (serves && !(await servesPaused())) {
    await standby.sql('SELECT pg_wal_replay_resume()');
    await pause();
  }
  await work().finally(() => standby.sql('SELECT pg_wal_replay_resume()'));
  await serving();
}

describe('reads on a standby', () => {
  beforeEach(() => serving());

  it('show what another connection has just written', async () => {
    const before = await reads('standby');
    for (let i = 0; i < 50; i++) {
      const id = await create();
      const [one, list, analytics] = await Promise.all([
        read(id),
        reader.get('/pools?limit=1', user),
        reader.get('/analytics/user', user),
      ]);
      expect([one.status, one.body.data?.id]).toEqual([200, id]);
      expect(list.body.data[0].id).toBe(id);
      expect(list.body.pagination.total).toBe(analytics.body.data.activePoolsCount);
    }
    expect(await reads('standby')).toBeGreaterThan(before);
  });

  it('are left to the primary while the standby is behind', async () => {
    const before = await reads('behind');
    await paused(async () => {
      expect((await read(await create())).status).toBe(200);
      expect(await reads('behind')).toBeGreaterThan(before);
    });
  });

  it('do not trust what the primary was asked before they came', async () => {
    const known = await create();
    const work = async (): Promise<void> => {
      toPrimary.hold('answers');
      const earlier = read(known);
      await until(() => toPrimary.waiting > 0);
      const id = await create();
      const later = read(id);
      toPrimary.deliver();
      expect((await earlier).status).toBe(200);
      expect((await later).status).toBe(200);
    };
    await paused(work, { serving: true });
  });

  it('show what is acknowledged before it is on disk', async () => {
    const eager = new TestApp();
    await query(primary.url, `ALTER SYSTEM SET wal_writer_delay = '3s'`);
    await query(primary.url, 'ALTER DATABASE savings SET synchronous_commit = off');
    await query(primary.url, 'SELECT pg_reload_conf()');
    try {
      await eager.start({ DATABASE_URL: primary.url, DATABASE_READ_URL: standby.url });
      for (let i = 0; i < 20; i++) {
        const { id } = await eager.createPool(user);
        expect((await eager.get(`/pools/${id}`, user)).status).toBe(200);
      }
    } finally {
      await query(primary.url, 'ALTER DATABASE savings RESET synchronous_commit');
      await query(primary.url, 'ALTER SYSTEM RESET wal_writer_delay');
      await query(primary.url, 'SELECT pg_reload_conf()');
      await eager.stop();
    }
  });
});

describe('a standby that fails', () => {
  let id: string;
  beforeAll(async () => {
    id = await create();
  });
  beforeEach(() => serving());
  afterEach(async () => {
    toStandby.restore();
    await serving();
  });

  it.each([
    ['refuses connections', () => toStandby.refuse()],
    ['does not answer', () => toStandby.hang()],
  ])('and %s costs no read', async (_, fail) => {
    const before = await reads('failed');
    fail();
    const answers = await Promise.all(Array.from({ length: 5 }, () => read(id)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(await reads('failed')).toBeGreaterThan(before);
    const skipped = await reads('paused');
    expect((await read(id)).status).toBe(200);
    expect(await reads('paused')).toBe(skipped + 1);
    expect((await reader.get('/health')).body.services.database).toBe('connected');
    expect((await reader.get('/health/ready')).status).toBe(200);
  });

  it('in one statement costs no read, and the others stay', async () => {
    // It does not find the tables there.
    const url = `${standby.url}?options=${encodeURIComponent('-c search_path=nowhere')}`;
    // A standby that was behind for a moment gets no reads until one has succeeded there, so another service tries.
    await until(async () => {
      const other = new TestApp();
      try {
        await other.start({ DATABASE_URL: primary.url, DATABASE_READ_URL: url }, undefined, undefined, {
          limits: PATIENT,
        });
        const counts = (): Promise<number[]> => Promise.all(['failed', 'paused', 'behind'].map(reads));
        const [failed, paused, behind] = await counts();
        for (let i = 0; i < 2; i++) expect((await other.get(`/pools/${id}`, user)).status).toBe(200);
        const after = await counts();
        if (after[2] > behind) return false;
        expect(after).toEqual([failed + 2, paused, behind]);
        return true;
      } finally {
        await other.stop();
      }
    });
  });
});

describe('a server that is no standby of this primary', () => {
  it('serves nothing if it follows a primary that was deposed', async () => {
    const folder = await standby.stop();
    const copy = await Standby.copy(folder, 'promoted');
    const [follower, other] = [
      await Standby.start(folder, primary.url),
      await Standby.start(copy, primary.url),
    ];
    const app = new TestApp();
    try {
      await other.sql('SELECT pg_promote()');
      // The old primary writes on, so that its standby is further than the new one.
      await query(primary.url, `SELECT pg_logical_emit_message(true, 'test', repeat('x', 1000000))`);
      await follower.caughtUp(primary.url);
      await app.start({ DATABASE_URL: other.url, DATABASE_READ_URL: follower.url });
      const before = await reads('behind');
      await until(async () => {
        const { status, body } = await app.post('/pools', { type: 'individual', initialDeposit: TEN }, user);
        if (status !== 201) return false;
        expect((await app.get(`/pools/${body.data.id}`, user)).status).toBe(200);
        return (await reads('behind')) > before;
      });
    } finally {
      await app.stop();
      await follower.stop();
      await other.stop();
    }
  });

  it('serves nothing if it is of another server', async () => {
    const folder = join(dir, 'other');
    let other = await startPostgres({ dir: folder, database: 'savings' });
    await migrate(other.url);
    await other.stop();
    const copy = await Standby.copy(other.dataDir, 'standby');
    other = await startPostgres({ dir: folder, database: 'savings', port: other.port });
    const foreign = await Standby.start(copy, other.url);
    const app = new TestApp();
    try {
      await query(
        other.url,
        `CREATE TABLE further AS SELECT repeat('x', 1000) FROM generate_series(1, 50000)`,
      );
      await foreign.caughtUp(other.url);
      await app.start({ DATABASE_URL: primary.url, DATABASE_READ_URL: foreign.url });
      const { id } = await app.createPool(user);
      expect((await app.get(`/pools/${id}`, user)).status).toBe(200);
    } finally {
      await app.stop();
      await foreign.stop();
      await other.stop();
    }
  });

  it('serves nothing if it is a primary', async () => {
    const app = new TestApp();
    try {
      await app.start({ DATABASE_URL: primary.url, DATABASE_READ_URL: primary.url });
      const before = await reads('failed');
      const { id } = await app.createPool(user);
      expect((await app.get(`/pools/${id}`, user)).status).toBe(200);
      expect(await reads('failed')).toBe(before + 1);
    } finally {
      await app.stop();
    }
  });
});
