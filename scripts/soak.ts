/**
 * Steady load on two replicas for SOAK_MINUTES (10): memory and handles must not grow. `npm run soak` builds first.
 * Prints a line every half minute, and ends with status 1 when something grew or a request failed.
 */
import { tmpdir } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { startPostgres } from '#dev/postgres';
import { type Answer, type Caller, HttpClient, signIn } from '../test/fleet/http';
import { TEN } from '../test/support/app';
import { Fleet } from '../test/support/processes/fleet';
import { RedisServer } from '../test/support/processes/processes';

const MINUTES = Number(process.env.SOAK_MINUTES ?? 10);
/** Requests a second, over all replicas. */
const RATE = Number(process.env.SOAK_RATE ?? 100);
const SAMPLE_EVERY_MS = 5000;
const PRINT_EVERY = 6;

/** What must be flat: how it is measured, and by how much its level may rise between the middle and the end. */
const MEASURES = [
  { name: 'RSS', metric: 'process_resident_memory_bytes', share: 0.1, unit: 2 ** 20 },
  { name: 'heap', metric: 'nodejs_heap_size_used_bytes', share: 0.1, unit: 2 ** 20 },
  { name: 'handles', metric: 'nodejs_active_handles_total', share: 0.05, unit: 1 },
  { name: 'file descriptors', metric: 'process_open_fds', share: 0.05, unit: 1 },
];
type Sample = number[];

async function main(): Promise<boolean> {
  const postgres = await startPostgres({ dir: tmpdir(), database: 'soak', ephemeral: true });
  process.env.TEST_DATABASE_URL = postgres.url;
  const redis = await RedisServer.start();
  let fleet: Fleet | undefined;
  try {
    fleet = await Fleet.start({ settings: { REDIS_URL: redis.url, LOG_LEVEL: 'error' } });
    return await soak(fleet);
  } finally {
    await fleet?.stop();
    await redis.end('SIGKILL');
    await postgres.stop();
  }
}

async function soak(fleet: Fleet): Promise<boolean> {
  const clients = fleet.urls.map((url) => new HttpClient(url, 16));
  const callers = await Promise.all(
    Array.from({ length: 20 }, (_, i) => signIn(clients[i % clients.length])),
  );
  const samples: Sample[][] = clients.map(() => []);
  const end = Date.now() + MINUTES * 60_000;
  let turn = 0;
  let requests = 0;
  let failed = 0;
  const load = (async () => {
    const pending = new Set<Promise<void>>();
    const begun = Date.now();
    while (Date.now() < end) {
      const due = ((Date.now() - begun) / 1000) * RATE;
      // No backlog when the machine is busy elsewhere: a request that could not be sent in time is left out.
      for (; turn < due && pending.size < 32; turn++) {
        requests++;
        const work: Promise<void> = ask(clients[turn % clients.length], callers, turn).then((answer) => {
          if (answer.status === 0 || answer.status >= 400) failed++;
          pending.delete(work);
        });
        pending.add(work);
      }
      turn = Math.max(turn, Math.floor(due));
      await wait(10);
    }
    await Promise.all(pending);
  })();
  while (Date.now() < end) {
    await wait(SAMPLE_EVERY_MS);
    await Promise.all(clients.map(async (client, i) => samples[i].push(await measure(client))));
    if (samples[0].length % PRINT_EVERY === 0)
      console.log(samples.map((each, i) => `replica ${i}: ${describe(each.at(-1)!)}`).join(' | '));
  }
  await load;
  for (const client of clients) client.close();
  console.log(`${requests} requests in ${MINUTES} minutes, ${failed} failed`);
  return samples.map(judge).every(Boolean) && failed === 0;
}

/** Reads mostly, as clients do; one request in 20 creates a pool, one in 100 signs in. */
async function ask(client: HttpClient, callers: Caller[], turn: number): Promise<Answer> {
  const { token, wallet } = callers[turn % callers.length];
  if (turn % 100 === 7) {
    callers[turn % callers.length] = await signIn(client, wallet);
    return client.send('/auth/me', { token });
  }
  if (turn % 20 === 3)
    return client.send('/pools', {
      method: 'POST',
      token,
      body: { type: 'individual', initialDeposit: TEN },
    });
  const paths = [
    '/pools?limit=10',
    '/transactions',
    '/analytics/user',
    '/analytics/pools',
    '/auth/me',
    '/health',
  ];
  return client.send(paths[turn % paths.length], { token });
}

const measure = (client: HttpClient): Promise<Sample> =>
  Promise.all(MEASURES.map(({ metric }) => client.metric(metric)));

const describe = (sample: Sample): string =>
  MEASURES.map(({ name, unit }, i) => `${name} ${Math.round(sample[i] / unit)}`).join(', ');

/** Lowest values of two stretches are compared: in between collections of garbage, memory goes up and down. */
function judge(samples: Sample[], replica: number): boolean {
  const third = Math.ceil(samples.length / 3);
  return MEASURES.map(({ name, share, unit }, i) => {
    const level = (part: Sample[]): number => Math.min(...part.map((sample) => sample[i])) / unit;
    const [middle, last] = [level(samples.slice(third, 2 * third)), level(samples.slice(-third))];
    const flat = last <= middle * (1 + share) + 1;
    console.log(
      `replica ${replica}: ${name} ${middle.toFixed(0)} in the middle third, ${last.toFixed(0)} in the last: ${flat ? 'flat' : 'GREW'}`,
    );
    return flat;
  }).every(Boolean);
}

main().then(
  (flat) => process.exit(flat ? 0 : 1),
  (error: Error) => {
    console.error(error.message);
    process.exit(1);
  },
);
