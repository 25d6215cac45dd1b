import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { type BenchDatabase, callers, heavyCaller } from './database';
import { drive, median } from './drive';
import { type Endpoint, endpoints, lists, thousandthPage } from './endpoints';
import { Progress, say, table } from './output';
import { type Peer, startPeer } from './peers';
import { signIns } from './sign-in';

interface Result {
  endpoint: string;
  /** Median latency in ms with little data, or of a light caller. */
  before: number;
  /** With much data, or of the heavy caller. */
  after: number;
  ratio: number;
  atMost: number;
}

const SMALL = { pools: 1000, transactions: 10_000 };
const LARGE = { pools: 1_000_000, transactions: 10_000_000, heavy: true };
/** Few, so that the latency does not include waiting in a queue. */
const CONNECTIONS = 4;
const ROUNDS = 5;
const SECONDS = 2;

/** A peer and the requests to measure on it. A sign-in has no requests. */
interface Subject {
  peer: Peer;
  endpoint?: Endpoint;
}

/** Whether requests cost the same however much data there is. Each caller's own data is of equal size. */
export async function scale(database: BenchDatabase): Promise<void> {
  const urls = { small: await database.filled(SMALL), large: await database.filled(LARGE) };
  const peers: Peer[] = [];
  try {
    for (const url of [urls.small, urls.large])
      peers.push(await startPeer('service', { databaseUrl: url, plainUrl: url }));
    const [small, large] = peers;
    const pairs = await Promise.all(
      [urls.small, urls.large].map(async (url) =>
        endpoints(await callers(url, 32), await callers(url, 64, 32), CONNECTIONS),
      ),
    );
    const heavy = {
      'an owner of 1,000 pools': await heavyCaller(urls.large, 1000),
      'an owner of 10,000 pools': await heavyCaller(urls.large, 10_000),
      'a member of 1,000 pools': await heavyCaller(urls.large, 1000, 'MEMBER'),
    };
    const [light] = await callers(urls.large, 1);
    const lightLists = lists(light, CONNECTIONS);

    const progress = new Progress(
      'Driving',
      (pairs[0].length + (lightLists.length + 1) * 3 + 1) * ROUNDS * 2,
    );
    const results: Result[] = [];
    const measure = async (name: string, before: Subject, after: Subject, atMost: number): Promise<void> => {
      results.push({ ...(await alternately(database, name, before, after, progress)), atMost });
    };
    for (const [i, endpoint] of pairs[0].entries()) {
      await measure(endpoint.name, { peer: small, endpoint }, { peer: large, endpoint: pairs[1][i] }, 1.3);
    }
    await measure('sign-in', { peer: small }, { peer: large }, 1.3);
    for (const [who, caller] of Object.entries(heavy)) {
      for (const [i, endpoint] of lists(caller, CONNECTIONS).entries()) {
        const before = { peer: large, endpoint: lightLists[i] };
        await measure(`${endpoint.name} of ${who}`, before, { peer: large, endpoint }, 3);
      }
      const first = { peer: large, endpoint: lightLists.find(({ name }) => name === '/transactions') };
      const last = { peer: large, endpoint: thousandthPage(caller, CONNECTIONS) };
      await measure(`/transactions?page=1000 of ${who}`, first, last, 10);
    }
    progress.end();
    report(results);
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
): Promise<Omit<Result, 'atMost'>> {
  const latencies: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    for (const which of round % 2 ? ([1, 0] as const) : ([0, 1] as const)) {
      latencies[which].push(await latency([before, after][which]));
      await database.quiet();
      progress.step(endpoint);
    }
  }
  const [first, second] = latencies.map(median);
  return { endpoint, before: rounded(first), after: rounded(second), ratio: rounded(second / first) };
}

async function latency({ peer, endpoint }: Subject): Promise<number> {
  if (!endpoint) return (await signIns(peer, 5)).latency;
  await drive(peer.url, endpoint.load, { seconds: 0.5 });
  return (await drive(peer.url, endpoint.load, { seconds: SECONDS })).latency;
}

const rounded = (value: number): number => Math.round(value * 1000) / 1000;

function report(results: Result[]): void {
  const rows = results.map(({ endpoint, before, after, ratio, atMost }) => [
    endpoint,
    before.toFixed(2),
    after.toFixed(2),
    ratio.toFixed(2),
    atMost.toFixed(1),
  ]);
  console.log(table(['median ms', 'little', 'much', 'ratio', 'at most'], rows));
  const file = path.join(__dirname, 'results-scale.json');
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`);
  say(`written to ${path.relative(process.cwd(), file)}`);
}
