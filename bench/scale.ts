import { type BenchDatabase, type Caller, callers, heavyCaller } from './database';
import { drive, median } from './drive';
import { type Endpoint, bearer, endpoints, posting, reading } from './loads';
import { type Limited, Progress, keep, publish } from './output';
import { type Peer, startPeer } from './peers';
import { signIns } from './sign-in';
import { type Cost, type ScaleResult, scaleTables } from './tables';

const SMALL = { pools: 1000, transactions: 10_000 };
const LARGE = { pools: 1_000_000, transactions: 10_000_000, heavy: true };
/** Few, so that the latency does not include waiting in a queue. */
const CONNECTIONS = 4;
const ROUNDS = 3;
const SECONDS = 1.5;
const WARM_UP_SECONDS = 0.5;

/** A peer and the requests to measure on it. A sign-in has no requests. */
interface Subject {
  peer: Peer;
  endpoint?: Endpoint;
}

const get = (who: Caller[], name: string, paths: (caller: Caller) => string[]): Endpoint =>
  reading(who, name, paths, CONNECTIONS);

/** Endpoints that the peer does not serve. */
const more = (who: Caller[]): Endpoint[] => [
  get(who, 'GET /lottery/me', () => ['/lottery/me']),
  posting(who, '/events/ticket', () => ({}), CONNECTIONS),
];

/** First pages of one caller's lists, so small that a light caller fills them too. */
const lists = (caller: Caller): Endpoint[] =>
  [
    '/pools?limit=10',
    '/pools?type=lottery&limit=2',
    '/transactions',
    '/transactions?type=DEPOSIT',
    '/transactions?order=desc',
    `/transactions?poolId=${caller.pools[0]}`,
    '/analytics/user',
    '/users/me/positions?limit=10',
    '/lottery/me?limit=10',
  ].map((path) => get([caller], path.replace(/poolId=.*/, 'poolId='), () => [path]));

/** Lists that have cursors, with the number of a page near their end; the biggest ones are those of heavy callers. */
const DEEP = [
  { path: '/pools?limit=10', of: 'an owner of 10,000 pools', page: 990 },
  { path: '/transactions?limit=20', of: 'an owner of 10,000 pools', page: 4900 },
  { path: '/transactions?limit=20', of: 'a member of 1,000 pools', page: 480 },
  { path: '/lottery/winners?limit=10', of: 'an owner of 10,000 pools', page: 9900 },
] as const;

/** The page after the numbered one, by its cursor. */
async function pageAfter(peer: Peer, caller: Caller, path: string, page: number): Promise<Endpoint> {
  const answer = await fetch(`${peer.url}${path}&page=${page}`, { headers: bearer(caller) });
  const { next } = (await answer.json()) as { next: string | null };
  if (!next) throw new Error(`${path}: nothing follows page ${page}`);
  return get([caller], path, () => [`${path}&after=${next}`]);
}

/** Whether requests cost the same however much data there is. Each caller's own data is of equal size. */
export async function scale(database: BenchDatabase, limited: Limited): Promise<void> {
  const urls = { small: await database.filled(SMALL), large: await database.filled(LARGE) };
  const peers: Peer[] = [];
  try {
    for (const url of [urls.small, urls.large])
      peers.push(await startPeer('service', { databaseUrl: url, plainUrl: url }));
    const [small, large] = peers;
    const pairs = await Promise.all(
      [urls.small, urls.large].map(async (url) => {
        const readers = await callers(url, 32);
        return [...endpoints(readers, await callers(url, 64, 32), CONNECTIONS), ...more(readers)];
      }),
    );
    const heavy = {
      'an owner of 1,000 pools': await heavyCaller(urls.large, 1000),
      'an owner of 10,000 pools': await heavyCaller(urls.large, 10_000),
      'a member of 1,000 pools': await heavyCaller(urls.large, 1000, 'MEMBER'),
    };
    const [light] = await callers(urls.large, 1);
    const lightLists = lists(light);

    const measures = pairs[0].length + 1 + (lightLists.length + 1) * 3 + DEEP.length;
    const progress = new Progress('Driving', measures * ROUNDS * 2);
    const results: ScaleResult[] = [];
    const measure = async (name: string, before: Subject, after: Subject, atMost: number): Promise<void> => {
      results.push({ ...(await alternately(database, name, before, after, progress)), atMost });
      keep('results-scale.json', results);
    };
    for (const [i, endpoint] of pairs[0].entries()) {
      await measure(endpoint.name, { peer: small, endpoint }, { peer: large, endpoint: pairs[1][i] }, 1.3);
    }
    await measure('sign-in', { peer: small }, { peer: large }, 1.3);
    for (const { path, of, page } of DEEP) {
      const [first, deep] = [
        await pageAfter(large, heavy[of], path, 1),
        await pageAfter(large, heavy[of], path, page),
      ];
      const name = `${path}&after= of ${of}, page ${page}`;
      await measure(name, { peer: large, endpoint: first }, { peer: large, endpoint: deep }, 1.3);
    }
    for (const [who, caller] of Object.entries(heavy)) {
      for (const [i, endpoint] of lists(caller).entries()) {
        const before = { peer: large, endpoint: lightLists[i] };
        await measure(`${endpoint.name} of ${who}`, before, { peer: large, endpoint }, 3);
      }
      const path = '/transactions?page=1000';
      const first = { peer: large, endpoint: lightLists.find(({ name }) => name === '/transactions') };
      const last = { peer: large, endpoint: get([caller], path, () => [path]) };
      await measure(`${path} of ${who}`, first, last, 10);
    }
    progress.end();
    console.log(scaleTables(results));
    publish('results-scale.json', limited);
  } finally {
    for (const peer of peers) await peer.stop();
  }
}

async function alternately(
  database: BenchDatabase,
  endpoint: string,
  before: Subject,
  after: Subject,
  progress: Progress,
): Promise<Omit<ScaleResult, 'atMost'>> {
  for (const { peer, endpoint: warmed } of [before, after])
    if (warmed) await drive(peer.url, warmed.load, { seconds: WARM_UP_SECONDS });
  const rounds: [Cost[], Cost[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    for (const which of round % 2 ? ([1, 0] as const) : ([0, 1] as const)) {
      rounds[which].push(await measured(database, [before, after][which]));
      await database.quiet();
      progress.step(endpoint);
    }
  }
  const [first, second] = rounds.map((all) => ({
    ms: rounded(median(all.map(({ ms }) => ms))),
    postgresUs: Math.round(median(all.map(({ postgresUs }) => postgresUs))),
  }));
  return { endpoint, before: first, after: second, ratio: rounded(second.ms / first.ms) };
}

async function measured(database: BenchDatabase, { peer, endpoint }: Subject): Promise<Cost> {
  const begun = database.cpuUs();
  const { latency, answers } = endpoint
    ? await drive(peer.url, endpoint.load, { seconds: SECONDS })
    : await signIns(peer, 5);
  return { ms: latency, postgresUs: (database.cpuUs() - begun) / answers };
}

const rounded = (value: number): number => Math.round(value * 1000) / 1000;
