import { readFileSync } from 'node:fs';
import path from 'node:path';
import { median } from '../../bench/drive';
import { table } from '../../bench/output';

const BENCH = path.join(__dirname, '../../bench');
const read = <T>(file: string): T => JSON.parse(readFileSync(path.join(BENCH, file), 'utf8')) as T;
const count = (value: number): string => Math.round(value).toLocaleString('en');
const percent = (share: number): string => `${Math.round(share * 100)} %`;

interface Peer {
  rate: number;
  p50: number;
  p99: number;
  stallMs: number;
  processUs: number;
  postgresUs: number;
}
interface Request {
  endpoint: string;
  pg: Peer;
  postgres: Peer;
  service: Peer;
  ratio: number;
  target: number;
  limit: number | null;
  share: number | null;
}
interface Scaled {
  endpoint: string;
  before: { ms: number; postgresUs: number };
  after: { ms: number; postgresUs: number };
  ratio: number;
  atMost: number;
}
interface Disturbed {
  p50: number;
  p99: number;
  stallMs: number;
  workMs: number;
  busy: number;
}

interface Measured {
  seconds: number;
  cpu: number;
  postgres: number;
  memory: number;
  requests: number;
}

/** bench/RESULTS.md: the figures of the last run of each benchmark, from the files that they write. */
export const figures = (): string =>
  `# Figures

Written by \`npm run generate\` from the files that the benchmarks write. What the columns mean, and what the figures say: [benchmarks](README.md).

## Requests

${requests()}

## Scale

${scale()}

## Fairness

${fairness()}

## Start

${start()}

## Indexer

${indexer()}

## Indexer beside ponder

${ponder()}
`;

function requests(): string {
  const results = read<Request[]>('results.json');
  const peers = (each: Request): Peer[] => [each.pg, each.postgres, each.service];
  const rates = results.map((each) => [
    each.endpoint,
    ...peers(each).map(({ rate }) => count(rate)),
    each.ratio.toFixed(2),
    each.target.toFixed(2),
    ...(each.limit && each.share ? [count(each.limit), percent(each.share)] : ['', '']),
  ]);
  const costs = results.map((each) => [
    each.endpoint,
    ...peers(each).flatMap(({ processUs, postgresUs }) => [count(processUs), count(postgresUs)]),
  ]);
  const times = results.map((each) => [
    each.endpoint,
    ...peers(each).flatMap(({ p50, p99, stallMs }) => [p50, p99, stallMs].map((ms) => ms.toFixed(1))),
  ]);
  const names = ['pg', 'postgres.js', 'service'];
  return [
    table(['requests/s', ...names, 'to the better', 'target', 'pgbench', 'share of it'], rates),
    table(['µs of CPU a request', ...names.flatMap((name) => [name, 'PostgreSQL'])], costs),
    table(['ms', ...names.flatMap((name) => [`${name} p50`, 'p99', 'stall'])], times),
  ].join('\n\n');
}

function scale(): string {
  const rows = read<Scaled[]>('results-scale.json').map(({ endpoint, before, after, ratio, atMost }) => [
    endpoint,
    ...[before.ms, after.ms].map((ms) => ms.toFixed(2)),
    ratio.toFixed(2),
    String(atMost),
    ...[before.postgresUs, after.postgresUs].map(count),
  ]);
  return table(['median ms', 'little', 'much', 'ratio', 'at most', 'µs, little', 'much'], rows);
}

function fairness(): string {
  const { results } = read<{
    results: { endpoint: string; disturbance: string; without: Disturbed; with: Disturbed; ratio: number }[];
  }>('results-fairness.json');
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

function start(): string {
  const { node, results, packages } = read<{
    node: string;
    results: { name: string; ms: number; idle: number; loaded: number }[];
    packages: { name: string; mib: number }[];
  }>('results-start.json');
  const rows = results.map(({ name, ms, idle, loaded }) => [name, ...[ms, idle, loaded].map(count)]);
  const all = packages.reduce((sum, { mib }) => sum + mib, 0);
  const largest = packages.slice(0, 6).map(({ name, mib }) => [name, count(mib)]);
  return [
    table([`Node ${node}`, 'first answer, ms', 'MiB idle', 'MiB loaded'], rows),
    table([`${packages.length} packages of the image, the largest`, `${count(all)} MiB`], largest),
  ].join('\n\n');
}

function indexer(): string {
  const { rounds, samples } = read<{
    rounds: Record<'viem' | 'apply' | 'indexer', number>[];
    samples: { events: number; rss: number; heap: number }[];
  }>('results-indexer.json');
  const events = rounds.map((each, at) => [
    `round ${at + 1}`,
    ...[each.viem, each.apply, each.indexer].map(count),
  ]);
  const memory = samples.map(({ events: read, rss, heap }) => [count(read), count(rss), count(heap)]);
  return [
    table(['events/s', 'viem, getLogs and decode', 'apply step', 'whole indexer'], events),
    table(['events read', 'RSS, MiB', 'heap, MiB'], memory),
  ].join('\n\n');
}

function ponder(): string {
  const { events, rounds } = read<{ events: number; rounds: Record<string, Measured>[] }>(
    'results-ponder.json',
  );
  const rows = Object.keys(rounds[0]).map((name) => {
    const runs = rounds.map((round) => round[name]);
    const of = (figure: (run: Measured) => number): number => median(runs.map(figure));
    return [
      name,
      count(of(({ seconds }) => events / seconds)),
      median(rounds.map((round) => round[name].seconds / round.indexer.seconds)).toFixed(2),
      ...[of(({ cpu }) => cpu), of(({ postgres }) => postgres)].map((seconds) => seconds.toFixed(1)),
      ...[of(({ memory }) => memory), of(({ requests: asked }) => asked)].map(count),
    ];
  });
  const titles = ['events/s', 'times as long', 'CPU, s', 'PostgreSQL, s', 'memory, MiB', 'requests'];
  return table([`${count(events)} events, medians`, ...titles], rows);
}
