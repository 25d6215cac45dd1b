import { setTimeout as sleep } from 'node:timers/promises';
import { machineCpuUs } from './cpu';
import { type BenchDatabase, callers } from './database';
import { DISTURBANCES, type Disturbance } from './disturbances';
import { median, percentile } from './drive';
import { type Endpoint, endpoints } from './loads';
import { rounded } from './measure';
import { type Limited, Progress, keep, publish, say } from './output';
import { pace } from './pace';
import { type Peer, startPeer } from './peers';
import { type FairnessResult, type Phase, fairnessTables } from './tables';

const SIZE = { pools: 1000, transactions: 10_000 };
const ENDPOINTS = ['GET /auth/me', 'GET /pools/:id', 'POST /pools'];
/** Requests a second to each endpoint: a small part of what the service can answer. */
const PLAN = { rate: 200, seconds: 3.5 };
/** Until then the compiler's work would be measured. */
const WARM_UP = { rate: 500, seconds: 3 };
const ROUNDS = 3;
/** What its end causes, such as thousands of connections that close, belongs to no phase. */
const END_MS = 500;
const GOAL = { ratio: 2, workMs: 20 };

/**
 * Latency of usual requests without and with what may disturb them, in turn. Writes results-fairness.json if all is
 * measured.
 */
export async function fairness(database: BenchDatabase, limited: Limited): Promise<void> {
  const { only = '' } = limited;
  const filled = await database.filled(SIZE);
  const chosen = DISTURBANCES.filter(({ name }) => name.includes(only));
  const progress = new Progress('Disturbing', chosen.length * ROUNDS);
  const results: FairnessResult[] = [];
  const counts: Record<string, Record<string, number>[]> = {};
  for (const disturbance of chosen) {
    const databaseUrl = await database.copy(filled, 'bench_fairness');
    const env = { TRUST_PROXY: '127.0.0.1', ...disturbance.env };
    const peer = await startPeer('service', { databaseUrl, plainUrl: databaseUrl, env });
    try {
      const rounds = new Rounds(peer, await baseline(databaseUrl));
      counts[disturbance.name] = await rounds.of(disturbance, databaseUrl, progress);
      results.push(...rounds.results(disturbance.name));
      keep('results-fairness.json', results);
    } finally {
      await peer.stop();
    }
  }
  progress.end();
  report(results, counts);
  publish('results-fairness.json', limited);
}

async function baseline(databaseUrl: string): Promise<Endpoint[]> {
  const all = endpoints(await callers(databaseUrl, 32), await callers(databaseUrl, 32, 32));
  return ENDPOINTS.map((name) => all.find((endpoint) => endpoint.name === name)!);
}

class Rounds {
  private readonly without: Phase[] = [];
  private readonly with: Phase[] = [];
  private clients = 0;

  constructor(
    private readonly peer: Peer,
    private readonly chosen: Endpoint[],
  ) {}

  /** @returns what the disturbance did in each round */
  async of(
    disturbance: Disturbance,
    databaseUrl: string,
    progress: Progress,
  ): Promise<Record<string, number>[]> {
    const begin = await disturbance.prepare({ url: this.peer.url, databaseUrl });
    await this.drive(WARM_UP);
    const counts: Record<string, number>[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      this.without.push(await this.phase());
      const end = await begin();
      this.with.push(await this.phase());
      const figures = await end();
      await sleep(END_MS);
      const { stallMs, workMs } = await this.peer.probe();
      counts.push({ ...figures, endStallMs: rounded(stallMs, 1), endWorkMs: rounded(workMs, 1) });
      progress.step(disturbance.name);
    }
    return counts;
  }

  /** Medians of the rounds, but the longest stall and work of all. */
  results(disturbance: string): FairnessResult[] {
    return this.chosen.map(({ name }, i) => {
      const [without, withIt] = [this.without, this.with].map((phases) => ({
        p50: rounded(median(phases.map(({ latencies }) => latencies[i].p50)), 2),
        p99: rounded(median(phases.map(({ latencies }) => latencies[i].p99)), 2),
        stallMs: rounded(Math.max(...phases.map(({ stallMs }) => stallMs)), 1),
        workMs: rounded(Math.max(...phases.map(({ workMs }) => workMs)), 1),
        busy: rounded(median(phases.map(({ busy }) => busy)), 2),
      }));
      const ratio = rounded(withIt.p99 / without.p99, 2);
      return { endpoint: name, disturbance, without, with: withIt, ratio };
    });
  }

  private async phase(): Promise<Phase> {
    await this.peer.probe();
    const machine = machineCpuUs();
    const times = await this.drive(PLAN);
    const { all, used } = machineCpuUs();
    const { stallMs, workMs } = await this.peer.probe();
    return {
      latencies: times.map((each) => ({ p50: median(each), p99: percentile(each, 0.99) })),
      stallMs,
      workMs,
      busy: (used - machine.used) / (all - machine.all),
    };
  }

  /** All endpoints at the same time. @returns latencies of each @throws Error when an answer is not 2xx */
  private async drive({ rate, seconds }: typeof PLAN): Promise<number[][]> {
    const count = this.chosen.length;
    const requests = this.chosen.map(({ load }) =>
      Array.from({ length: load.connections }, (_, i) => load.requests(i)).flat(),
    );
    const times = this.chosen.map((): number[] => []);
    await pace(
      this.peer.url,
      { rate: rate * count, amount: rate * count * seconds },
      (n) => {
        const own = requests[n % count];
        const request = own[Math.floor(n / count) % own.length];
        return { ...request, headers: { ...request.headers, 'x-forwarded-for': this.newAddress() } };
      },
      (n, status, ms) => {
        if (status >= 300) throw new Error(`${this.chosen[n % count].name} was answered with ${status}`);
        times[n % count].push(ms);
      },
    );
    return times;
  }

  /** Each request comes from another client, so that no limit holds for it. */
  private newAddress(): string {
    const n = ++this.clients;
    return `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`;
  }
}

function report(results: FairnessResult[], counts: Record<string, Record<string, number>[]>): void {
  console.log(fairnessTables(results));
  for (const [name, rounds] of Object.entries(counts)) console.log(`${name}: ${JSON.stringify(rounds)}`);
  const missed = results.filter((each) => each.ratio > GOAL.ratio || each.with.workMs > GOAL.workMs);
  say(
    `${missed.length} of ${results.length} rows miss a goal (ratio ${GOAL.ratio}, work ${GOAL.workMs} ms).`,
  );
}
