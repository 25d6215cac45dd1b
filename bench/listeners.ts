import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { type BenchDatabase, type Caller, callers, using } from './database';
import { drive, median } from './drive';
import { type Endpoint, bearer, endpoints } from './endpoints';
import type { FromListeners, ToListeners } from './listener-process';
import { Progress, table } from './output';
import { startPeer } from './peers';

const SIZE = { pools: 1000, transactions: 10_000 };
const ENDPOINTS = ['GET /pools', 'GET /auth/me'];
const PUBLISH_MS = 1000;
const PLAN = { seconds: 4, warmUp: 1, rounds: 5 };
const QUICK = { seconds: 1, warmUp: 0.3, rounds: 3 };

/** What read requests cost while many clients follow events, in turn with what they cost without them. */
export async function listeners(database: BenchDatabase, count: number, quick: boolean): Promise<void> {
  const { seconds, warmUp, rounds } = quick ? QUICK : PLAN;
  const databaseUrl = await database.copy(await database.filled(SIZE), 'bench_listeners');
  const peer = await startPeer('service', {
    databaseUrl,
    plainUrl: databaseUrl,
    env: { EVENT_STREAMS_PER_USER: '1000' },
  });
  const rates = new Map(ENDPOINTS.map((name) => [name, { without: [] as number[], with: [] as number[] }]));
  let received = 0;
  let published = 0;
  try {
    const readers = await callers(databaseUrl, 32);
    const chosen = endpoints(readers, []).filter(({ name }) => ENDPOINTS.includes(name));
    const progress = new Progress('Driving', rounds * 2 * chosen.length);
    const measure = async (which: 'without' | 'with'): Promise<void> => {
      for (const { name, load } of chosen) {
        await drive(peer.url, load, { seconds: warmUp });
        rates.get(name)![which].push((await drive(peer.url, load, { seconds })).rate);
        progress.step(`${name} ${which} listeners`);
      }
    };
    const measureWith = async (): Promise<void> => {
      const crowd = await Crowd.open(peer.url, count, await callers(databaseUrl, 64, 32));
      try {
        published += await publishing(databaseUrl, () => measure('with'));
      } finally {
        received += await crowd.leave();
      }
    };
    for (let round = 0; round < rounds; round++) {
      for (const step of round % 2
        ? [measureWith, () => measure('without')]
        : [() => measure('without'), measureWith])
        await step();
    }
    progress.end();
    report(chosen, rates, count);
    console.log(`${published} events, each for ${count} listeners: ${received} arrived`);
  } finally {
    await peer.stop();
  }
}

function report(
  chosen: Endpoint[],
  rates: Map<string, { without: number[]; with: number[] }>,
  count: number,
): void {
  const rows = chosen.map(({ name }) => {
    const [without, withThem] = [median(rates.get(name)!.without), median(rates.get(name)!.with)];
    return [name, without.toFixed(0), withThem.toFixed(0), (withThem / without).toFixed(2)];
  });
  console.log(table(['requests/s, median', 'without', `${count} listeners`, 'ratio'], rows));
}

/** Publishes an event that all may read, again and again while the work lasts. @returns how many */
async function publishing(url: string, work: () => Promise<void>): Promise<number> {
  return using(url, async (client) => {
    let count = 0;
    let last: Promise<unknown> = Promise.resolve();
    const timer = setInterval(() => {
      count++;
      last = client.query(
        `INSERT INTO outbox (count, items) VALUES (1, '[{"topic": "draw.closed", "drawId": 1}]')`,
      );
    }, PUBLISH_MS);
    await work().finally(() => clearInterval(timer));
    await last;
    return count;
  });
}

/** Clients of the event stream, in a process of their own. */
class Crowd {
  private constructor(private readonly child: ChildProcess) {}

  static async open(url: string, count: number, users: Caller[]): Promise<Crowd> {
    const child = fork(path.join(__dirname, 'listener-process.ts'), {
      execArgv: ['-r', 'ts-node/register/transpile-only'],
    });
    const crowd = new Crowd(child);
    const opened = crowd.answer();
    crowd.send({ url, count, headers: users.map(bearer) });
    await opened;
    return crowd;
  }

  /** @returns how many events arrived, of all clients */
  async leave(): Promise<number> {
    const answer = this.answer();
    this.send('leave');
    const { received } = await answer;
    return received;
  }

  private send(message: ToListeners): void {
    this.child.send(message);
  }

  /** @throws Error when the process ends instead */
  private async answer(): Promise<FromListeners> {
    const ended = once(this.child, 'exit').then(() => {
      throw new Error('the listeners have ended');
    });
    ended.catch(() => undefined);
    const [answer] = (await Promise.race([once(this.child, 'message'), ended])) as [FromListeners];
    return answer;
  }
}
