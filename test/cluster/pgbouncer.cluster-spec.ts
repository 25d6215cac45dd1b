import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LocalPostgres, startPostgres } from '#dev/postgres';
import { freePort } from '#dev/ports';
import { type Caller, signIn, tally } from '../fleet/http';
import { TEN } from '../support/app';
import { migrate } from '../support/database';
import { eventually } from '../support/processes/processes';
import { SmallService } from './small-service';

const LIMIT_MS = 120_000;
/** Roles of the service. Each gets what its connections send in their start packets; see deploy/scaling/pooler.md. */
const ROLES = {
  savings_api: {
    plan_cache_mode: 'force_generic_plan',
    enable_seqscan: 'off',
    enable_hashjoin: 'off',
    enable_mergejoin: 'off',
    jit: 'off',
    lock_timeout: '800ms',
    TimeZone: 'UTC',
    statement_timeout: '2500ms',
  },
  savings_indexer: {
    jit: 'off',
    TimeZone: 'UTC',
    idle_in_transaction_session_timeout: '10s',
  },
};
type Role = keyof typeof ROLES;

/** PgBouncer in session mode, in front of one server. */
class PgBouncer {
  private process?: ChildProcess;
  log = '';

  private constructor(
    private readonly folder: string,
    readonly port: number,
    private readonly server: LocalPostgres,
  ) {}

  static async at(server: LocalPostgres): Promise<PgBouncer> {
    const folder = await mkdtemp(join(tmpdir(), 'pooled-savings-pgbouncer-'));
    await chmod(folder, 0o755);
    return new PgBouncer(folder, await freePort(), server);
  }

  async start(settings: Record<string, string> = {}): Promise<void> {
    const all = {
      listen_addr: '127.0.0.1',
      listen_port: this.port,
      unix_socket_dir: '',
      auth_type: 'trust',
      auth_file: join(this.folder, 'users'),
      pool_mode: 'session',
      default_pool_size: 30,
      ignore_startup_parameters: 'extra_float_digits,options',
      ...settings,
    };
    const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`);
    await writeFile(
      join(this.folder, 'pgbouncer.ini'),
      `[databases]\n* = host=127.0.0.1 port=${this.server.port}\n[pgbouncer]\n${lines.join('\n')}\n`,
    );
    await writeFile(
      join(this.folder, 'users'),
      Object.keys(ROLES)
        .map((role) => `"${role}" "secret"\n`)
        .join(''),
    );
    // It refuses to run as root.
    const account = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
    this.log = '';
    const child = spawn('pgbouncer', [...account, join(this.folder, 'pgbouncer.ini')]);
    this.process = child;
    process.once('exit', () => child.kill('SIGKILL'));
    child.stderr?.on('data', (chunk: Buffer) => (this.log += chunk.toString()));
    await eventually(() => {
      if (child.exitCode !== null) throw new Error(`pgbouncer did not start:\n${this.log}`);
      return answers(this.port);
    });
  }

  async end(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.process;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, 'exit');
  }

  async destroy(): Promise<void> {
    await this.end();
    await rm(this.folder, { recursive: true, force: true });
  }

  url(role: Role): string {
    const url = new URL(this.server.url);
    return `postgres://${role}:secret@127.0.0.1:${this.port}${url.pathname}`;
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1', () => resolve(true));
    socket.on('error', () => resolve(false)).on('connect', () => socket.destroy());
  });
}

describe('through PgBouncer in session mode', () => {
  let server: LocalPostgres;
  let bouncer: PgBouncer;
  let service: SmallService;
  let folder: string;

  /** Connections that PgBouncer has already opened keep the settings that the role had then, so it starts again. */
  const setRole = async (role: Role): Promise<void> => {
    for (const [name, value] of Object.entries(ROLES[role]))
      await service.sql(`ALTER ROLE ${role} SET ${name} = '${value}'`);
    await bouncer.end();
    await bouncer.start();
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'pooled-savings-pooled-'));
    server = await startPostgres({ dir: folder, database: 'savings', ephemeral: true });
    await migrate(server.url);
    bouncer = await PgBouncer.at(server);
    const urls = { api: bouncer.url('savings_api'), indexer: bouncer.url('savings_indexer') };
    service = await SmallService.prepare(server.url, urls);
    for (const role of Object.keys(ROLES)) {
      await service.sql(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'`);
      for (const what of ['TABLES', 'SEQUENCES'])
        await service.sql(`GRANT ALL ON ALL ${what} IN SCHEMA public TO ${role}`);
    }
  });
  afterAll(async () => {
    await service?.destroy();
    await bouncer?.destroy();
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('without role settings the API does not start, and says which are missing', async () => {
    await bouncer.start();
    await expect(service.api.start()).rejects.toThrow(
      /lacks settings .*lock_timeout is 0, not 800.*ALTER ROLE "savings_api" SET .*lock_timeout = '800'/s,
    );
    await setRole('savings_api');
    await service.api.start();
  });

  it('nor does the indexer lead', async () => {
    await service.indexer.start();
    await eventually(() => service.indexer.output.includes('ALTER ROLE \\"savings_indexer\\" SET'));
    expect(await service.sql('SELECT FROM chain_cursor')).toEqual([]);
    await setRole('savings_indexer');
    await service.followsChain();
  });

  /** Clients that create pools until told to stop, and repeat what was not answered with 201 under the same key. */
  async function load(callers: Caller[], more: () => Promise<unknown>): Promise<Map<string, string>> {
    const created = new Map<string, string>();
    const statuses: { status: number }[] = [];
    let stopping = false;
    const clients = callers.map(async ({ token }, index) => {
      for (let n = 0; !stopping || n === 0; n++) {
        const amount = (BigInt(TEN) + BigInt(index * 1_000_000 + n + created.size * 1000)).toString();
        const key = { 'idempotency-key': randomUUID() };
        for (;;) {
          const body = { type: 'individual', initialDeposit: amount };
          const answer = await service.http.send('/pools', { method: 'POST', body, token, headers: key });
          statuses.push(answer);
          if (answer.status !== 201) continue;
          created.set(answer.body.data.id as string, amount);
          break;
        }
      }
    });
    const progress = async (): Promise<void> => {
      const goal = created.size + 30;
      await eventually(() => created.size >= goal, LIMIT_MS);
    };
    await progress();
    await more();
    await progress();
    stopping = true;
    await Promise.all(clients);
    for (const status of Object.keys(tally(statuses))) expect(['201', '409', '503']).toContain(status);
    return created;
  }
  const balances = async (ids: Iterable<string>): Promise<Map<string, string>> => {
    const rows = await service.sql<{ id: string; balance: string }>(
      'SELECT id, balance FROM pools WHERE id = ANY($1)',
      [[...ids]],
    );
    return new Map(rows.map(({ id, balance }) => [id, balance]));
  };
  const pools = async (): Promise<number> =>
    (await service.sql<{ n: number }>('SELECT count(*)::int AS n FROM pools'))[0].n;

  it('requests and the indexer work, and keys work for requests at the same time', async () => {
    const saver = await signIn(service.http);
    const body = { type: 'individual', initialDeposit: TEN };
    const send = (headers = {}): Promise<{ status: number; body: any }> =>
      service.http.send('/pools', { method: 'POST', body, token: saver.token, headers });
    const others = (answers: { status: number }[], ...wanted: number[]): number[] =>
      answers.map(({ status }) => status).filter((status) => !wanted.includes(status));
    // A machine that is too busy to answer in time says 503.
    const first = await Promise.all(Array.from({ length: 30 }, () => send()));
    expect(others(first, 201, 503)).toEqual([]);
    const plain = first.filter(({ status }) => status === 201);
    const before = await pools();
    const keyed = await Promise.all(Array.from({ length: 30 }, () => send({ 'idempotency-key': 'same' })));
    expect(others(keyed, 201, 409, 503)).toEqual([]);
    await eventually(async () => (await send({ 'idempotency-key': 'same' })).status === 201);
    expect(await pools()).toBe(before + 1);
    for (const { body: answer } of plain.slice(0, 3)) await service.pay(answer.data);
    await service.followsChain();
    const [{ body: answer }] = plain;
    const found = await service.http.send(`/pools/${answer.data.id}`, { token: saver.token });
    expect(found.body.data.transactions.map(({ txHash }: { txHash: string }) => txHash)).toContainEqual(
      expect.stringMatching(/^0x/),
    );
    expect(await service.verify()).toMatchObject({ code: 0, complete: true });
  });

  it.each([
    ['killed and started again', {}],
    ['restarted with a server_lifetime of one second', { server_lifetime: '1', server_idle_timeout: '1' }],
  ])('it is %s: nothing is lost or done twice, and the indexer goes on', async (_, settings) => {
    const callers = await Promise.all([1, 2, 3, 4].map(() => signIn(service.http)));
    const before = await pools();
    const created = await load(callers, async () => {
      await bouncer.end('SIGKILL');
      await bouncer.start(settings);
    });
    expect(await balances(created.keys())).toEqual(created);
    expect(await pools()).toBe(before + created.size);
    const pool = await service.createPool(callers[0].token);
    await service.pay(pool);
    await service.followsChain();
    expect(await service.verify()).toMatchObject({ code: 0, complete: true });
  });

  it('that refuses the start packet is named when the API starts', async () => {
    await service.stop();
    await bouncer.end();
    await bouncer.start({ ignore_startup_parameters: 'extra_float_digits' });
    await expect(service.api.start()).rejects.toThrow('unsupported startup parameter: options');
  });
});
