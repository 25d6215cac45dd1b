import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { checkSameAnswers } from './check';
import { type BenchDatabase, callers, dropTriggers } from './database';
import { drive, median } from './drive';
import { type Endpoint, endpoints } from './endpoints';
import { Progress, say, table } from './output';
import { type Peer, type PeerName, startPeer } from './peers';
import { SIGN_IN, signIns } from './sign-in';

export interface CompareOptions {
  quick: boolean;
  /** Measure only endpoints whose name contains this. */
  only?: string;
}

interface Result {
  endpoint: string;
  bare: number;
  service: number;
  /** Ratio of service to bare. */
  ratio: number;
}

/** Seconds of a run and of the warming up before it, rounds, and sign-ins of each wallet in a run. */
const FULL = { seconds: 4, warmUp: 1, rounds: 5, signIns: 30 };
const QUICK = { seconds: 0.5, warmUp: 0.15, rounds: 3, signIns: 4 };
type Plan = typeof FULL;

const SIZE = { pools: 100_000, transactions: 200_000 };

/** Drives both peers on the same data, in turn, and writes results.json. */
export async function compare(database: BenchDatabase, { quick, only = '' }: CompareOptions): Promise<void> {
  const plan = quick ? QUICK : FULL;
  const filled = await database.filled(SIZE);
  const databaseUrl = await database.copy(filled, 'bench_data');
  const plainUrl = await database.copy(filled, 'bench_plain');
  await dropTriggers(plainUrl);
  const peers: Peer[] = [];
  try {
    for (const name of ['bare', 'service'] as const) {
      peers.push(await startPeer(name, { databaseUrl, plainUrl }));
    }
    const all = endpoints(await callers(databaseUrl, 32), await callers(databaseUrl, 64, 32));
    say(`${await checkSameAnswers(peers, all)} requests are answered alike by both`);

    const chosen = all.filter(({ name }) => name.includes(only));
    const names = [...chosen.map(({ name }) => name), ...(SIGN_IN.includes(only) ? [SIGN_IN] : [])];
    const progress = new Progress('Driving', names.length * plan.rounds * 2);
    const results: Result[] = [];
    for (const name of names) {
      const endpoint = chosen.find((each) => each.name === name);
      results.push(await rounds(database, peers, endpoint, plan, progress));
    }
    progress.end();
    report(results);
  } finally {
    for (const peer of peers) await peer.stop();
  }
}

/** Both peers in turn, several times. The order changes every round, so that a slowdown of the machine hits both. */
async function rounds(
  database: BenchDatabase,
  peers: Peer[],
  endpoint: Endpoint | undefined,
  plan: Plan,
  progress: Progress,
): Promise<Result> {
  const rates: Record<PeerName, number[]> = { bare: [], service: [] };
  for (let round = 0; round < plan.rounds; round++) {
    for (const peer of round % 2 ? [...peers].reverse() : peers) {
      rates[peer.name].push(await rate(peer, endpoint, plan));
      await database.quiet();
      progress.step(`${endpoint?.name ?? SIGN_IN} ${peer.name}`);
    }
  }
  const [bare, service] = [rates.bare, rates.service].map((each) => rounded(median(each)));
  return {
    endpoint: endpoint?.name ?? SIGN_IN,
    bare,
    service,
    ratio: Math.round((service / bare) * 1000) / 1000,
  };
}

async function rate(peer: Peer, endpoint: Endpoint | undefined, plan: Plan): Promise<number> {
  if (!endpoint) return (await signIns(peer, plan.signIns)).rate;
  await drive(peer.url, endpoint.load, { seconds: plan.warmUp });
  return (await drive(peer.url, endpoint.load, { seconds: plan.seconds })).rate;
}

/** Rounded to a tenth below 100, otherwise to a whole number. */
const rounded = (rate: number): number => (rate < 100 ? Math.round(rate * 10) / 10 : Math.round(rate));

function report(results: Result[]): void {
  const rows = results.map(({ endpoint, bare, service, ratio }) => [
    endpoint,
    ...[bare, service].map((rate) => rate.toLocaleString('en')),
    ratio.toFixed(2),
  ]);
  console.log(table(['requests/s', 'bare', 'service', 'service/bare'], rows));
  const file = path.join(__dirname, 'results.json');
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`);
  say(`written to ${path.relative(process.cwd(), file)}`);
}
