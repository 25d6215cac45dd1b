import type { ChainBench, IndexerProcess } from '../chain/chain-bench';
import type { Faults } from '../chain/rpc-node';
import type { generator } from '../random';
import { liars } from '../chain/liars';

export type Random = ReturnType<typeof generator>;
export const one = <T>(random: Random, of: T[]): T => of[random(of.length)];

/** An endpoint that fails or lags, but tells nothing false. */
export function trouble(random: Random, contracts: string[]): Faults {
  let n = 0;
  const silent = one(random, contracts).toLowerCase();
  return one<Faults>(random, [
    // All that one contract says.
    { logs: (logs) => logs.filter(({ address }) => address.toLowerCase() !== silent) },
    { logs: (logs) => logs.filter(({ address }) => address.toLowerCase() !== silent) },
    {},
    { http: () => (n++ % 4 === 1 ? 502 : 'ok') },
    { http: () => 'drop' },
    { behind: () => n++ % 3 },
    { behind: () => 20 },
    { maxRange: 1 + random(5) },
    { maxBatch: 1 + random(10) },
    { batch: (answers) => [...answers].reverse() },
    { refuse: (method) => method === 'eth_getLogs' },
    // Its counts show it.
    { logs: (logs) => logs.filter((_, i) => i !== 1) },
  ]);
}

/** One that lies so that its own answers fit one another. */
export const lie = (random: Random, head: number): Faults =>
  one<() => Faults>(random, [
    liars.amounts,
    liars.omission,
    () => liars.branch(Math.max(1, head - random(4))),
    () => liars.head(1 + random(1000)),
  ])();

/** The indexers of a chain: one that leads, and sometimes a second that stands by. */
export class Indexers {
  private running: IndexerProcess[] = [];

  constructor(
    private readonly random: Random,
    private readonly start: () => IndexerProcess,
  ) {}

  /** All anew, so that none remembers which endpoints failed or which contracts there were. */
  async restart(): Promise<void> {
    await this.end();
    for (let count = 1 + this.random(2); count > 0; count -= 1) this.running.push(this.start());
  }

  /** The oldest is killed. The next one takes over: one that stood by, or one that starts now. */
  async takeover(): Promise<void> {
    await this.running.shift()?.end('SIGKILL');
    if (this.running.length === 0 || this.random(2) === 0) this.running.push(this.start());
  }

  async end(): Promise<void> {
    for (const each of this.running.splice(0)) await each.end('SIGKILL');
  }

  get output(): string {
    return this.running.map(({ output }) => output).join('\n');
  }
}

export const contractsOf = ({ deployment, further }: ChainBench): string[] => [
  ...Object.values(deployment.contracts),
  ...further.map(([, address]) => address),
];
