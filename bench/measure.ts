import { machineCpuUs } from './cpu';
import type { BenchDatabase } from './database';
import { type Run, median } from './drive';
import type { Peer } from './peers';

/** What a run of requests to a peer took. */
export interface Measured {
  /** Requests per second. */
  rate: number;
  /** Latencies in ms. */
  p50: number;
  p99: number;
  /** The longest stall of the peer's event loop. */
  stallMs: number;
  /** µs of CPU that a request takes in the peer's process, in PostgreSQL, and in the clients. */
  processUs: number;
  postgresUs: number;
  clientUs: number;
  /** Share of the machine's CPU time that all other processes took. */
  others: number;
}

export async function measure(
  database: BenchDatabase,
  peer: Peer,
  run: () => Promise<Run>,
): Promise<Measured> {
  const [machine, clients, postgres] = [machineCpuUs(), process.cpuUsage(), database.cpuUs()];
  const before = await peer.probe();
  const { rate, latency, p99, answers } = await run();
  const after = await peer.probe();
  const { user, system } = process.cpuUsage(clients);
  const ours = {
    process: after.cpuUs - before.cpuUs,
    postgres: database.cpuUs() - postgres,
    clients: user + system,
  };
  const { all, used } = machineCpuUs();
  const others = used - machine.used - ours.process - ours.postgres - ours.clients;
  return {
    rate,
    p50: latency,
    p99,
    stallMs: after.stallMs,
    processUs: ours.process / answers,
    postgresUs: ours.postgres / answers,
    clientUs: ours.clients / answers,
    others: Math.max(0, others / (all - machine.all)),
  };
}

/** Medians, but the longest stall of all. */
export function summary(rounds: Measured[]): Measured {
  const of = (key: keyof Measured, digits: number): number =>
    rounded(median(rounds.map((each) => each[key])), digits);
  return {
    rate: of('rate', 0),
    p50: of('p50', 2),
    p99: of('p99', 2),
    stallMs: rounded(Math.max(...rounds.map(({ stallMs }) => stallMs)), 1),
    processUs: of('processUs', 1),
    postgresUs: of('postgresUs', 1),
    clientUs: of('clientUs', 1),
    others: of('others', 3),
  };
}

export const rounded = (value: number, digits: number): number => Number(value.toFixed(digits));
