import { Fleet, report, seconds } from '../support/processes/fleet';
import { RedisServer, eventually } from '../support/processes/processes';
import { type Answer, type Caller, HttpClient, named, signIn, slowest, tally } from './http';

const LIMIT = 100;
const GENERAL = { RATE_LIMIT_GENERAL: `${LIMIT}`, RATE_LIMIT_AUTH: '100000', TRUST_PROXY: '127.0.0.1' };

let clientNumber = 0;
/** A new client at each call, as the trusted proxy reports it. */
const newClient = (): Record<string, string> => {
  clientNumber++;
  return { 'x-forwarded-for': `198.18.${clientNumber >> 8}.${clientNumber & 255}` };
};

/** Sends that many requests of one client, spread evenly over the replicas, a given number at a time. */
async function burst(clients: HttpClient[], count: number, atOnce: number): Promise<Answer[]> {
  const headers = newClient();
  const answers: Answer[] = [];
  let sent = 0;
  const send = async (): Promise<void> => {
    while (sent < count)
      answers.push(await clients[sent++ % clients.length].send('/lottery/current', { headers }));
  };
  await Promise.all(Array.from({ length: atOnce }, send));
  return answers;
}

/** Not limited: the endpoint refused the request because it had no token. */
const passed = (answers: Answer[]): number => tally(answers)[401] ?? 0;

describe('rate limits over replicas', () => {
  let redis: RedisServer;
  let fleet: Fleet;
  let clients: HttpClient[];
  beforeAll(async () => {
    redis = await RedisServer.start();
    fleet = await Fleet.start({ replicas: 3, settings: { ...GENERAL, REDIS_URL: redis.url } });
    clients = fleet.urls.map((url) => new HttpClient(url));
  });
  afterAll(async () => {
    redis?.signal('SIGCONT');
    await fleet?.stop();
    await redis?.end('SIGKILL');
    clients?.forEach((client) => client.close());
  });

  const healths = (): Promise<{ status: string; services: { redis: string } }[]> =>
    Promise.all(clients.map(async (client) => (await client.send('/health')).body));
  const everywhere = (status: string): Promise<void> =>
    eventually(async () => (await healths()).every(({ services }) => services.redis === status));

  it('pass 100 of 1,000 concurrent requests', async () => {
    await everywhere('connected');
    const answers = await burst(clients, 1000, 1000);
    report('1,000 concurrent requests of one client', { passed: passed(answers), ...named(tally(answers)) });
    expect(tally(answers)).toEqual({ 401: LIMIT, 429: 1000 - LIMIT });
  });

  const faults: { name: string; fail: () => unknown; repair: () => unknown }[] = [
    { name: 'killed', fail: () => redis.end('SIGKILL'), repair: () => redis.start() },
    { name: 'hung', fail: () => redis.signal('SIGSTOP'), repair: () => redis.signal('SIGCONT') },
    { name: 'restarted', fail: () => redis.end('SIGTERM'), repair: () => redis.start() },
  ];

  it.each(faults)('hold in each process while Redis is $name, and over all afterwards', async (fault) => {
    await everywhere('connected');
    const traffic = new Traffic(clients);
    await traffic.start();
    await traffic.progress(100);
    const begun = Date.now();
    await fault.fail();
    await everywhere('disconnected');
    const noticed = Date.now() - begun;
    expect((await healths()).map(({ status }) => status)).toEqual(['degraded', 'degraded', 'degraded']);
    const during = await burst(clients, 3 * 150, 12);
    await traffic.progress(100);

    const repaired = Date.now();
    await fault.repair();
    await everywhere('connected');
    const recovery = Date.now() - repaired;
    await eventually(async () => (await healths()).every(({ status }) => status === 'healthy'));
    const afterwards = await burst(clients, 600, 12);
    await traffic.progress(100);
    await traffic.stop();

    report(`Redis ${fault.name}`, {
      'requests of the traffic': traffic.answers.length,
      failed: traffic.answers.filter(({ status }) => status !== 200).length,
      's the longest wait': seconds(Math.max(slowest(traffic.answers), slowest(during))),
      's until noticed': seconds(noticed),
      's to recover': seconds(recovery),
      'of 450 passed meanwhile': passed(during),
      'of 600 passed afterwards': passed(afterwards),
    });
    expect(tally(traffic.answers)).toEqual({ 200: traffic.answers.length });
    expect(tally(during)).toEqual({ 401: 3 * LIMIT, 429: 3 * 50 });
    expect(tally(afterwards)).toEqual({ 401: LIMIT, 429: 500 });
  });
});

/** Steady requests, each of its own client, so that none reaches the limit. */
class Traffic {
  readonly answers: Answer[] = [];
  private stopping = false;
  private work: Promise<unknown> = Promise.resolve();

  constructor(private readonly clients: HttpClient[]) {}

  async start(): Promise<void> {
    const caller = await signIn(this.clients[0]);
    this.work = Promise.all([0, 1, 2, 3, 4, 5].map((worker) => this.ask(worker, caller)));
  }

  async progress(count: number): Promise<void> {
    const goal = this.answers.length + count;
    await eventually(() => this.answers.length >= goal);
  }

  async stop(): Promise<void> {
    this.stopping = true;
    await this.work;
  }

  private async ask(worker: number, { token }: Caller): Promise<void> {
    for (let turn = worker; !this.stopping; turn++) {
      const client = this.clients[turn % this.clients.length];
      const answer = await client.send('/pools', { token, headers: newClient() });
      this.answers.push(answer);
      if (answer.status === 0) return;
    }
  }
}
