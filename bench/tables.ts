// The tables of figures, which the benchmarks print and RESULTS.md shows.
import { median } from './drive';
import type { Usage } from './indexer-process';
import type { Measured } from './measure';
import { table } from './output';
import type { PeerName } from './peers';

export interface RequestResult extends Record<PeerName, Measured> {
  endpoint: string;
  /** Rate of the service divided by that of the peer, and what it must be at least. */
  ratio: number;
  target: number;
  /** Requests per second that the statements alone would allow, and the service's share of it. Null without pgbench. */
  limit: number | null;
  share: number | null;
}

/** In ms. */
interface Latency {
  p50: number;
  p99: number;
}

export interface Phase {
  /** Of each endpoint. */
  latencies: Latency[];
  /** The longest stall of the service's event loop, and the longest work in a turn of it. */
  stallMs: number;
  workMs: number;
  /** Share of the machine's CPU time that was in use. */
  busy: number;
}

export interface FairnessResult extends Record<'without' | 'with', Latency & Omit<Phase, 'latencies'>> {
  endpoint: string;
  disturbance: string;
  /** p99 with the disturbance to that without. */
  ratio: number;
}

export interface Cost {
  /** Median latency. */
  ms: number;
  /** CPU of PostgreSQL per request. */
  postgresUs: number;
}

export interface ScaleResult {
  endpoint: string;
  /** With little data, of a light caller, or of the first page. */
  before: Cost;
  /** With much data, of a heavy caller, or of a deep page. */
  after: Cost;
  /** Of the latencies. */
  ratio: number;
  atMost: number;
}

export type Rates = Record<'viem' | 'apply' | 'indexer', number>;

/** Since the start, after so many events. */
export interface Sample extends Usage {
  events: number;
  seconds: number;
  /** µs of CPU in PostgreSQL. */
  postgres: number;
  /** Bytes of the database. */
  size: number;
}

export interface IndexerResults {
  rounds: Rates[];
  samples: Sample[];
}

const count = (value: number): string => Math.round(value).toLocaleString('en');
const percent = (share: number): string => `${Math.round(share * 100)} %`;

export function requestTables(results: RequestResult[]): string {
  const rows = (cells: (result: RequestResult) => string[]): string[][] =>
    results.map((result) => [result.endpoint, ...cells(result)]);
  const rates = rows(({ pg, service, ratio, target, limit, share }) => [
    ...[pg, service].map(({ rate }) => count(rate)),
    ...[ratio, target].map((value) => value.toFixed(2)),
    ...(limit && share ? [count(limit), percent(share)] : ['', '']),
  ]);
  const costs = rows(({ pg, service }) =>
    [pg, service].flatMap(({ processUs, postgresUs }) => [count(processUs), count(postgresUs)]),
  );
  const times = rows(({ pg, service }) =>
    [pg, service].flatMap(({ p50, p99, stallMs }) => [p50, p99, stallMs].map((ms) => ms.toFixed(1))),
  );
  const names = ['pg', 'service'];
  return [
    table(['requests/s', ...names, 'service / pg', 'target', 'pgbench', 'share of it'], rates),
    table(['µs of CPU a request', ...names.flatMap((name) => [name, 'PostgreSQL'])], costs),
    table(['ms', ...names.flatMap((name) => [`${name} p50`, 'p99', 'stall'])], times),
  ].join('\n\n');
}

export function scaleTables(results: ScaleResult[]): string {
  const rows = results.map(({ endpoint, before, after, ratio, atMost }) => [
    endpoint,
    ...[before.ms, after.ms, ratio].map((value) => value.toFixed(2)),
    String(atMost),
    ...[before.postgresUs, after.postgresUs].map(count),
  ]);
  return table(['median ms', 'little', 'much', 'ratio', 'at most', 'µs, little', 'much'], rows);
}

export function fairnessTables(results: FairnessResult[]): string {
  const rows = results.map((each) => {
    const both = [each.without, each.with];
    return [
      `${each.endpoint}, ${each.disturbance}`,
      ...both.flatMap(({ p50, p99 }) => [p50.toFixed(2), p99.toFixed(2)]),
      each.ratio.toFixed(2),
      ...both.flatMap(({ stallMs, workMs }) => [stallMs.toFixed(1), workMs.toFixed(1)]),
      ...both.map(({ busy }) => percent(busy)),
    ];
  });
  const titles = ['p50', 'p99', 'p50 with', 'p99 with', 'ratio', 'stall', 'work', 'stall with', 'work with'];
  return table(['ms', ...titles, 'CPU', 'CPU with'], rows);
}

export function indexerTables({ rounds, samples }: IndexerResults): string {
  const rates = (['viem', 'apply', 'indexer'] as const).map((name) => rounds.map((each) => each[name]));
  const events = [
    ...rounds.map((_, at) => [`round ${at + 1}`, ...rates.map((each) => count(each[at]))]),
    ['median', ...rates.map((each) => count(median(each)))],
  ];
  return [
    table(['events/s', 'viem, getLogs and decode', 'apply step', 'whole indexer'], events),
    curveTable(samples),
  ].join('\n\n');
}

/** Between two samples, rates and CPU are those of the events between them. */
export function curveTable(samples: Sample[]): string {
  const rows = samples.map(({ events, seconds, cpu, postgres, size, rss, heap }, at) => {
    const last = samples[at - 1] ?? { events: 0, seconds: 0, cpu: 0, postgres: 0 };
    const each = (used: number): string => (used / (events - last.events)).toFixed(1);
    return [
      count(events),
      count((events - last.events) / (seconds - last.seconds)),
      each(cpu - last.cpu),
      each(postgres - last.postgres),
      count(rss),
      count(heap),
      count(size / 2 ** 20),
      count(size / events),
    ];
  });
  const names = ['events read', 'events/s', 'µs of CPU each', 'in PostgreSQL', 'RSS, MiB', 'heap, MiB'];
  return table([...names, 'database, MiB', 'bytes an event'], rows);
}
