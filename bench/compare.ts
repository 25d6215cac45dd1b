import { loadavg } from 'node:os';
import { checkSameAnswers } from './check';
import { type BenchDatabase, callers, dropTriggers } from './database';
import { type Run, drive, median } from './drive';
import { SIGN_IN } from './endpoints';
import { Limit } from './limit';
import { type Endpoint, endpoints } from './loads';
import { type Measured, measure, rounded, summary } from './measure';
import { type Limited, Progress, keep, publish, say } from './output';
import { type Peer, type PeerName, startPeers } from './peers';
import { signIns } from './sign-in';
import { type RequestResult, requestTables } from './tables';

/** Seconds of a run and of the warming up before it, rounds, and sign-ins of each wallet in a run. */
const FULL = { seconds: 2.5, warmUp: 0.5, rounds: 5, signIns: 20, limits: { rounds: 5, seconds: 2 } };
const QUICK = { seconds: 0.5, warmUp: 0.15, rounds: 3, signIns: 4, limits: { rounds: 1, seconds: 1 } };
/**
 * Requests, or sign-ins of each wallet, to each peer before the first round. Until then the compiler's work would be
 * measured.
 */
const FIRST = { requests: 3000, signIns: 50 };

const SIZE = { pools: 100_000, transactions: 200_000 };
/** Share of the CPU time that other processes may take. */
const CALM = 0.05;
const PEERS = ['pg', 'service'] as const;

/** Drives all peers on the same data, in turn, and writes results.json if everything is measured. */
export async function compare(database: BenchDatabase, limited: Limited): Promise<void> {
  const { quick, only = '' } = limited;
  const load = loadavg()[0].toFixed(1);
  const filled = await database.filled(SIZE);
  const databaseUrl = await database.copy(filled, 'bench_data');
  const plainUrl = await database.copy(filled, 'bench_plain');
  await dropTriggers(plainUrl);
  const [readers, writers] = [await callers(databaseUrl, 32), await callers(databaseUrl, 64, 32)];
  const limit = await Limit.prepare(databaseUrl, readers, writers);
  if (!limit) say('There is no pgbench, so its columns are left out.');
  const peers = await startPeers(PEERS, { databaseUrl, plainUrl });
  try {
    const all = endpoints(readers, writers);
    say(`${await checkSameAnswers(peers, all)} requests are answered alike by both.`);

    const chosen: (Endpoint | undefined)[] = all.filter(({ name }) => name.includes(only));
    if (SIGN_IN.includes(only)) chosen.push(undefined);
    const comparison = new Comparison(database, peers, limit, quick ? QUICK : FULL);
    const progress = new Progress('Driving', chosen.length);
    const results: RequestResult[] = [];
    for (const endpoint of chosen) {
      results.push(await comparison.of(endpoint));
      keep('results.json', results);
      progress.step(endpoint?.name ?? SIGN_IN);
    }
    progress.end();
    report(results, load);
    publish('results.json', limited);
  } finally {
    limit?.end();
    for (const peer of peers) await peer.stop();
  }
}

class Comparison {
  constructor(
    private readonly database: BenchDatabase,
    private readonly peers: Peer[],
    private readonly limit: Limit | undefined,
    private readonly plan: typeof FULL,
  ) {}

  /**
   * All peers in turn, several times. The order changes every round, so that a slowdown of the machine hits all.
   * @param endpoint undefined: the sign-in
   */
  async of(endpoint?: Endpoint): Promise<RequestResult> {
    const name = endpoint?.name ?? SIGN_IN;
    for (const peer of this.peers) {
      if (endpoint) await drive(peer.url, endpoint.load, { amount: FIRST.requests });
      else await signIns(peer, FIRST.signIns);
    }
    const measured: Record<PeerName, Measured[]> = { pg: [], service: [] };
    const limits: number[] = [];
    for (let round = 0; round < this.plan.rounds; round++) {
      for (const peer of round % 2 ? [...this.peers].reverse() : this.peers) {
        if (endpoint) await drive(peer.url, endpoint.load, { seconds: this.plan.warmUp });
        measured[peer.name].push(await measure(this.database, peer, () => this.run(peer, endpoint)));
        await this.database.quiet();
      }
      if (!this.limit || round >= this.plan.limits.rounds) continue;
      limits.push(await this.limit.rate(name, this.plan.limits.seconds));
      await this.database.quiet();
    }
    const [pg, service] = PEERS.map((each) => summary(measured[each]));
    const limit = limits.length ? rounded(median(limits), 0) : null;
    return {
      endpoint: name,
      ...{ pg, service },
      ratio: rounded(service.rate / pg.rate, 3),
      target: endpoint ? 0.85 : 0.9,
      limit,
      share: limit && rounded(service.rate / limit, 3),
    };
  }

  private run(peer: Peer, endpoint?: Endpoint): Promise<Run> {
    const { seconds, signIns: each } = this.plan;
    return endpoint ? drive(peer.url, endpoint.load, { seconds }) : signIns(peer, each);
  }
}

function report(results: RequestResult[], load: string): void {
  console.log(`${requestTables(results)}\n`);
  const others = median(results.flatMap((each) => PEERS.map((name) => each[name].others)));
  say(`Load before the run: ${load}. Other processes took ${Math.round(others * 100)} % of the CPU time.`);
  if (others > CALM) say('The machine was not calm: these figures are not comparable with others.');
}
