import { readFileSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LocalPostgres, startPostgres } from '#dev/postgres';
import { migrate } from '../support/database';
import { Fleet, report, seconds } from '../support/processes/fleet';
import { eventually } from '../support/processes/processes';
import { HttpClient, slowest, tally } from './http';
import { Depositors, INTACT, audit, isOverlap } from './ledger';

/** Connections of each replica. */
const POOL_SIZE = 10;

/** A server that keeps what it acknowledged, which the tests damage. */
class Victim {
  private server: LocalPostgres;

  private constructor(private readonly dir: string) {}

  static async start(): Promise<Victim> {
    const victim = new Victim(await mkdtemp(join(tmpdir(), 'pooled-savings-fault-')));
    await victim.start();
    await migrate(victim.url);
    return victim;
  }

  get url(): string {
    return this.server.url;
  }

  /** Restarts on the same data and port, and recovers from whatever happened. */
  async start(): Promise<void> {
    const port = this.server?.port;
    this.server = await startPostgres({ dir: this.dir, database: 'fault', port });
    if (port !== undefined && this.server.port !== port) throw new Error(`port ${port} was taken meanwhile`);
  }

  stop(): Promise<void> {
    return this.server.stop();
  }

  /** Kills the server with all its processes: connections end without notice. */
  async kill(): Promise<void> {
    await this.signal('SIGKILL');
    await this.stop();
  }

  /** To all its processes. While they are listed the server stands still, or one that it starts would be left out. */
  async signal(signal: NodeJS.Signals): Promise<void> {
    const { pid } = this.server;
    kill(pid, 'SIGSTOP');
    await eventually(() => isStill(pid));
    for (const each of [...children(pid), pid]) kill(each, signal);
  }

  async remove(): Promise<void> {
    await this.signal('SIGCONT');
    await this.stop();
    await rm(this.dir, { recursive: true, force: true });
  }
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** A line of what Linux says of a process. Empty if there is no such process. */
function statusOf(pid: number, line: 'State' | 'PPid'): string {
  try {
    return new RegExp(`^${line}:\\s+(\\w+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1];
  } catch {
    return '';
  }
}

/** Whether it is stopped, or has ended. */
const isStill = (pid: number): boolean => ['T', 'Z', ''].includes(statusOf(pid, 'State'));

const children = (parent: number): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && statusOf(Number(name), 'PPid') === `${parent}`)
    .map(Number);

describe('PostgreSQL fails under load', () => {
  let victim: Victim;
  let fleet: Fleet;
  let clients: HttpClient[];
  let load: Depositors | undefined;
  beforeAll(async () => {
    victim = await Victim.start();
    const database = { url: victim.url, drop: () => Promise.resolve() };
    fleet = await Fleet.start({ database, indexed: true, settings: { DATABASE_POOL_SIZE: `${POOL_SIZE}` } });
    clients = fleet.urls.map((url) => new HttpClient(url));
  });
  afterAll(async () => {
    await fleet?.stop();
    await victim?.remove();
    clients?.forEach((client) => client.close());
  });

  /** A fault of at least that many ms. */
  const faults: { name: string; lasting: number; fail: () => unknown; repair: () => unknown }[] = [
    { name: 'stopped', lasting: 10_000, fail: () => victim.stop(), repair: () => victim.start() },
    { name: 'killed with -9', lasting: 1000, fail: () => victim.kill(), repair: () => victim.start() },
    {
      name: 'hung',
      lasting: 6000,
      fail: () => victim.signal('SIGSTOP'),
      repair: () => victim.signal('SIGCONT'),
    },
  ];

  it.each(faults)(
    '$name: 503 meanwhile, nothing lost, recovers, no leak',
    async ({ name, lasting, fail, repair }) => {
      const earlier = load?.acknowledged.size ?? 0;
      load = new Depositors(fleet, load);
      await load.start();
      await load.progress(100);
      const failed = Date.now();
      await fail();
      // Every replica has refused every client several times, and both probes report it.
      const { failures, acknowledgedBy } = load;
      await eventually(() => failures.length >= 24 && Date.now() >= failed + lasting);
      const asked = await Promise.all(
        clients.map((client) => Promise.all([client.send('/health/ready'), client.send('/health')])),
      );
      for (const [ready, health] of asked) {
        expect(ready.status).toBe(503);
        expect(health.status).toBe(200);
        expect(health.body).toMatchObject({ status: 'unhealthy', services: { database: 'disconnected' } });
      }
      await repair();
      const [repaired, before] = [Date.now(), [...acknowledgedBy]];
      await eventually(() => acknowledgedBy.every((count, i) => count > before[i]));
      const recovery = Date.now() - repaired;
      await load.progress(100);
      await load.stop();
      await fleet.followsChain();
      const followed = Date.now() - repaired;

      const found = await audit(fleet, load);
      report(`PostgreSQL ${name}`, {
        requests: load.requests,
        'pools acknowledged': load.acknowledged.size - earlier,
        refused: failures.length,
        's the longest wait': seconds(slowest(failures)),
        lost: found.lost,
        duplicated: found.duplicated,
        's to recover': seconds(recovery),
        's until the chain was followed': seconds(followed),
      });
      expect(found).toEqual(INTACT);
      const refusals = failures.filter((failure) => !isOverlap(failure));
      expect(Object.keys(tally(refusals))).toEqual(['503']);
      expect(refusals.every(({ body }) => body.error === 'Service unavailable')).toBe(true);
      for (const each of [...fleet.replicas, ...fleet.indexers]) expect(each.running).toBe(true);

      // Nothing is left over, neither in the replicas nor on the server.
      // Jobs that read the outbox need a connection for moments, so the counts are compared until they agree.
      await eventually(async () => {
        const pools = await Promise.all(clients.map((client) => client.databaseConnections()));
        const pooled = pools.reduce((sum, { idle }) => sum + idle, 0);
        const atRest = pools.every(({ busy, waiting }) => busy === 0 && waiting === 0);
        return atRest && pooled <= POOL_SIZE * clients.length && (await fleet.connections()) === pooled;
      });
      for (const client of clients)
        await eventually(async () => (await client.send('/health')).body.status === 'healthy');
    },
  );
});
