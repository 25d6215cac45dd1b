import { Fleet, report, seconds } from '../support/processes/fleet';
import { eventually } from '../support/processes/processes';
import { type Answer, type Call, HttpClient, signIn, slowest, tally } from './http';
import { TEN } from '../support/app';

/**
 * Interval between readiness probes of a replica. Load balancers that probe less often may need a longer `NOTICE_MS`.
 */
const PROBE_MS = 250;

/** Sends requests in turn to the replicas whose readiness probe answers 200. Retries nothing. */
class Balancer {
  readonly ready: boolean[];
  private readonly clients: HttpClient[];
  private readonly probes: HttpClient[];
  private readonly timer: NodeJS.Timeout;
  private turn = 0;

  constructor(urls: string[]) {
    this.clients = urls.map((url) => new HttpClient(url));
    this.probes = urls.map((url) => new HttpClient(url));
    this.ready = urls.map(() => false);
    this.timer = setInterval(() => void this.probe(), PROBE_MS);
  }

  async send(path: string, call?: Call): Promise<Answer> {
    for (let tries = 0; tries < this.clients.length; tries++) {
      const index = this.turn++ % this.clients.length;
      if (this.ready[index]) return this.clients[index].send(path, call);
    }
    throw new Error('no replica is ready');
  }

  close(): void {
    clearInterval(this.timer);
    for (const client of [...this.clients, ...this.probes]) client.close();
  }

  private async probe(): Promise<void> {
    await Promise.all(
      this.probes.map(async (probe, i) => {
        this.ready[i] = (await probe.send('/health/ready')).status === 200;
      }),
    );
  }
}

describe('SIGTERM to every replica in turn under load', () => {
  let fleet: Fleet;
  let balancer: Balancer;
  beforeAll(async () => {
    fleet = await Fleet.start({ indexed: true });
    balancer = new Balancer(fleet.urls);
  });
  afterAll(async () => {
    balancer?.close();
    await fleet?.stop();
  });

  it('fails no request behind a load balancer', async () => {
    const allReady = (): Promise<void> => eventually(() => balancer.ready.every(Boolean));
    const answers: Answer[] = [];
    const created = new Set<string>();
    let stopping = false;
    const record = (answer: Answer): Answer => {
      answers.push(answer);
      return answer;
    };
    await allReady();
    const first = new HttpClient(fleet.urls[0]);
    const callers = await Promise.all(Array.from({ length: 6 }, () => signIn(first)));
    first.close();
    const work = Promise.all(
      callers.map(async ({ token }) => {
        const body = { type: 'individual', initialDeposit: TEN };
        while (!stopping) {
          const { status, body: pool } = record(
            await balancer.send('/pools', { method: 'POST', body, token }),
          );
          if (status !== 201) continue;
          created.add(pool.data.id as string);
          record(await balancer.send(`/pools/${pool.data.id}`, { token }));
          record(await balancer.send('/pools?limit=5', { token }));
        }
      }),
    );
    const durations: number[] = [];
    for (const replica of fleet.replicas) {
      const before = answers.length;
      await eventually(() => answers.length >= before + 100);
      const begun = Date.now();
      expect(await replica.end('SIGTERM')).toBe(0);
      durations.push(Date.now() - begun);
      await replica.start();
      await allReady();
    }
    for (const indexer of fleet.indexers) {
      expect(await indexer.end('SIGTERM')).toBe(0);
      await indexer.start();
    }
    const served = answers.length;
    await eventually(() => answers.length >= served + 100);
    stopping = true;
    await work;

    report('rolling restart', {
      requests: answers.length,
      failed: answers.filter(({ status }) => status !== 200 && status !== 201).length,
      's the longest wait': seconds(slowest(answers)),
      's the longest drain': seconds(Math.max(...durations)),
    });
    expect(Object.keys(tally(answers))).toEqual(['200', '201']);
    await fleet.followsChain();
    const [{ count }] = await fleet.sql<{ count: number }>(
      'SELECT count(*)::int AS count FROM pools p WHERE EXISTS (SELECT FROM transactions WHERE pool_id = p.id)',
    );
    expect(count).toBe(created.size);
    // The connections of the ended process are gone, and it ended by itself, not by the time limit.
    expect(Math.max(...durations)).toBeLessThan(8000);
  });

  it('finishes started requests, and fails readiness at once', async () => {
    const [replica] = fleet.replicas;
    const client = new HttpClient(replica.url);
    const { token } = await signIn(client);
    // Blocked in the database, so that it is in flight when the signal comes.
    let answer: Promise<Answer> | undefined;
    await fleet.whileLocked('pools', async () => {
      answer = client.send('/pools', {
        method: 'POST',
        body: { type: 'lottery', initialDeposit: TEN },
        token,
      });
      await eventually(async () => (await fleet.waiting()) === 1);
      replica.signal('SIGTERM');
      await eventually(async () => (await client.send('/health/ready')).status === 503);
      expect((await client.send('/health')).status).toBe(200);
    });
    expect((await answer)?.status).toBe(201);
    expect(await replica.ended).toBe(0);
    client.close();
  });
});
