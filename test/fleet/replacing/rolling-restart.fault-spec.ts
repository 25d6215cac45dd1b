import { Fleet, report, seconds } from '../../support/processes/fleet';
import { eventually } from '../../support/processes/processes';
import { Balancer } from './balancer';
import { type Answer, HttpClient, signIn, slowest, tally } from '../http';
import { TEN } from '../../support/app';

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
