import { setTimeout as wait } from 'node:timers/promises';
import { TEN } from '../support/app';
import { type Answer, type Caller, HttpClient, signIn } from '../fleet/http';
import { migrate } from '../support/database';
import { Fleet, report } from '../support/processes/fleet';
import { eventually } from '../support/processes/processes';
import { Cluster } from './cluster';

/** Reads right after an acknowledged write. STANDBY_READS=100000 is the long drill, of some twenty minutes. */
const READS = Number(process.env.STANDBY_READS ?? 10_000);
const CLIENTS = 16;
/** Acknowledged writes during a fault, and between two of them. */
const FAULT = 100;
const STEADY = 200;
/** Longer than any failover takes on a busy machine. */
const RECOVERY_MS = 120_000;
const BACKOFF_MS = 20;

/** Clients that create pools, and read each at once through every replica, over connections of their own. */
class Witnesses {
  acknowledged = 0;
  reads = 0;
  unavailable = 0;
  /** Reads that did not show the pool that was acknowledged before. */
  readonly stale: Answer[] = [];
  private stopping = false;
  private work: Promise<unknown> = Promise.resolve();
  private readonly clients: HttpClient[];

  constructor(urls: string[]) {
    this.clients = urls.map((url) => new HttpClient(url));
  }

  async start(): Promise<void> {
    const callers: Caller[] = [];
    for (let i = 0; i < CLIENTS; i++) callers.push(await signIn(this.clients[i % this.clients.length]));
    this.work = Promise.all(callers.map((caller, i) => this.witness(caller, i)));
  }

  async progress(count: number): Promise<void> {
    const goal = this.acknowledged + count;
    await eventually(() => this.acknowledged >= goal, RECOVERY_MS);
  }

  async stop(): Promise<void> {
    this.stopping = true;
    await this.work;
    for (const client of this.clients) client.close();
  }

  async outcome(name: string): Promise<number> {
    const metric = `standby_reads_total{outcome="${name}"}`;
    const values = await Promise.all(this.clients.map((client) => client.metric(metric)));
    return values.reduce((sum, value) => sum + value, 0);
  }

  private async witness({ token }: Caller, turn: number): Promise<void> {
    const body = { type: 'individual', initialDeposit: TEN };
    while (!this.stopping) {
      const writer = this.clients[turn++ % this.clients.length];
      const { status, body: answer } = await writer.send('/pools', { method: 'POST', body, token });
      if (status !== 201) {
        await wait(BACKOFF_MS);
        continue;
      }
      this.acknowledged++;
      const id = answer.data.id as string;
      await Promise.all(
        this.clients.flatMap((client) => [
          this.read(client, `/pools/${id}`, token, ({ data }) => data.id === id),
          this.read(client, '/pools?limit=1', token, ({ data }) => data[0]?.id === id),
        ]),
      );
    }
  }

  private async read(
    client: HttpClient,
    path: string,
    token: string,
    shows: (body: any) => boolean,
  ): Promise<void> {
    const answer = await client.send(path, { token });
    this.reads++;
    if (answer.status === 503) this.unavailable++;
    else if (answer.status !== 200 || !shows(answer.body)) this.stale.push(answer);
  }
}

describe('reads on standbys', () => {
  let cluster: Cluster;
  let fleet: Fleet;
  let load: Witnesses;

  beforeAll(async () => {
    // Every standby serves, also one that is not synchronous, and none has replayed what is acknowledged.
    cluster = await Cluster.up({ SYNC_COUNT: '1', SYNC_COMMIT: 'on', RO_CHECK: '/replica' });
    await migrate(cluster.url);
    const standbys = new URL(cluster.urls.api);
    standbys.port = `${Number(standbys.port) + 1}`;
    const database = { url: cluster.url, drop: () => Promise.resolve() };
    fleet = await Fleet.start({
      database,
      urls: cluster.urls,
      settings: { DATABASE_READ_URL: standbys.href },
    });
    load = new Witnesses(fleet.urls);
    await load.start();
  });
  afterAll(async () => {
    await load?.stop();
    await fleet?.stop();
    await cluster?.destroy();
  });

  const run = (...command: (string | number)[]): Promise<string> => cluster.run(...command);
  const standbys = async (): Promise<string[]> => {
    const leader = await cluster.leader();
    return ['1', '2', '3'].filter((node) => node !== leader);
  };
  const replay = async (change: 'pause' | 'resume', nodes: string[]): Promise<void> => {
    for (const node of nodes) await run('psql', node, '-qAtc', `SELECT pg_wal_replay_${change}()`);
  };

  const faults: Record<string, () => Promise<void>> = {
    'replay stands still': async () => {
      const [node] = await standbys();
      await replay('pause', [node]);
      await load.progress(FAULT);
      await replay('resume', [node]);
    },
    'replay stands still everywhere': async () => {
      const nodes = await standbys();
      await replay('pause', nodes);
      await load.progress(FAULT);
      await replay('resume', nodes);
    },
    'PostgreSQL of a standby killed': async () => {
      await run('kill', (await standbys())[1], 'postgres');
      await load.progress(FAULT);
    },
    'standby frozen': async () => {
      const node = (await cluster.synchronous())!;
      await run('freeze', node);
      await load.progress(FAULT);
      await run('wake', node);
    },
    'standby killed': async () => {
      const node = (await cluster.synchronous())!;
      await run('kill', node);
      await load.progress(FAULT);
      await run('start', node);
    },
    switchover: async () => {
      await run('switchover');
      await load.progress(FAULT);
    },
    'leader killed': async () => {
      const leader = (await cluster.leader())!;
      await run('kill', leader);
      await load.progress(FAULT);
      await run('start', leader);
    },
  };

  it(
    'show every acknowledged write, whatever happens to the standbys',
    async () => {
      const [reads, fallbacks] = [
        load.reads,
        async () => (await load.outcome('behind')) + (await load.outcome('failed')),
      ];
      const names = Object.keys(faults);
      for (let turn = 0; turn < names.length || load.reads - reads < READS; turn++) {
        const name = names[turn % names.length];
        const before = {
          reads: load.reads,
          standby: await load.outcome('standby'),
          fallbacks: await fallbacks(),
        };
        await faults[name]();
        await run('wait');
        await load.progress(STEADY);
        const standby = (await load.outcome('standby')) - before.standby;
        report(name, {
          reads: load.reads - before.reads,
          'by standbys': standby,
          'first tried there': (await fallbacks()) - before.fallbacks,
          stale: load.stale.length,
        });
      }
      await load.stop();
      const standby = await load.outcome('standby');
      report('reads on standbys', {
        reads: load.reads,
        'by standbys': standby,
        'answered 503': load.unavailable,
      });
      expect(load.stale).toEqual([]);
      expect(standby).toBeGreaterThan(0);
    },
    READS * 40 + 600_000,
  );
});
