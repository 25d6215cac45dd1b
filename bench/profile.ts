import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type BenchDatabase, callers, dropTriggers } from './database';
import { type Run, drive } from './drive';
import { SIGN_IN } from './endpoints';
import { endpoints } from './loads';
import { say, table } from './output';
import { type PeerName, startPeer } from './peers';
import { signIns } from './sign-in';

/** What node writes with --cpu-prof; times in µs of the monotonic clock. */
interface CpuProfile {
  nodes: {
    id: number;
    callFrame: { functionName: string; url: string; lineNumber: number };
    children?: number[];
  }[];
  startTime: number;
  samples: number[];
  timeDeltas: number[];
}

/** µs a request, by where they were spent. */
type Costs = Map<string, number>;

const SECONDS = 8;
const TOP = 40;

/** Where the service and its peer on pg spend their time in one endpoint, by package and by function. */
export async function profile(database: BenchDatabase, only: string): Promise<void> {
  const filled = await database.filled({ pools: 100_000, transactions: 200_000 });
  const databaseUrl = await database.copy(filled, 'bench_data');
  const plainUrl = await database.copy(filled, 'bench_plain');
  await dropTriggers(plainUrl);
  const all = endpoints(await callers(databaseUrl, 32), await callers(databaseUrl, 64, 32));
  const endpoint = all.find(({ name }) => name.includes(only));
  if (!endpoint && only !== SIGN_IN)
    throw new Error(`no endpoint contains "${only}"; there are: ${all.map(({ name }) => name).join(', ')}`);

  const costs: Record<string, { packages: Costs; functions: Costs }> = {};
  for (const name of ['pg', 'service'] satisfies PeerName[]) {
    const folder = mkdtempSync(path.join(tmpdir(), 'bench-profile-'));
    const flags = ['--cpu-prof', '--cpu-prof-interval=250', `--cpu-prof-dir=${folder}`];
    const peer = await startPeer(name, { databaseUrl, plainUrl, flags });
    const run = (length: number): Promise<Run> =>
      endpoint ? drive(peer.url, endpoint.load, { seconds: length }) : signIns(peer, length * 10);
    await run(2);
    const from = now();
    const { rate, answers } = await run(SECONDS);
    const to = now();
    await peer.stop();
    const [file] = readdirSync(folder);
    const found = JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as CpuProfile;
    rmSync(folder, { recursive: true });
    costs[name] = summarise(found, from, to, answers);
    say(`${name}: ${Math.round(rate)} requests/s under the profiler`);
  }
  console.log(`${endpoint?.name ?? SIGN_IN}: µs a request, of the process's own time`);
  for (const kind of ['packages', 'functions'] as const) {
    console.log(`\n${differences(kind, costs.pg[kind], costs.service[kind])}`);
  }
}

const now = (): number => Number(process.hrtime.bigint() / 1000n);

function summarise(
  { nodes, startTime, samples, timeDeltas }: CpuProfile,
  from: number,
  to: number,
  answers: number,
) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const [packages, functions]: [Costs, Costs] = [new Map(), new Map()];
  let time = startTime;
  samples.forEach((id, i) => {
    time += timeDeltas[i];
    if (time < from || time > to) return;
    const { functionName, url, lineNumber } = byId.get(id)!.callFrame;
    const cost = Math.max(0, timeDeltas[i + 1] ?? 0) / answers;
    const file = url.replace(/^file:\/\//, '');
    const origin = packageOf(file, functionName);
    packages.set(origin, (packages.get(origin) ?? 0) + cost);
    const place = file
      ? `${functionName || '(anonymous)'} ${shortened(file)}:${lineNumber + 1}`
      : functionName;
    functions.set(place, (functions.get(place) ?? 0) + cost);
  });
  return { packages, functions };
}

function packageOf(file: string, functionName: string): string {
  if (!file) return functionName.startsWith('(') ? functionName : '(native)';
  if (file.startsWith('node:')) return file.split('/').slice(0, 2).join('/');
  const inside = file.lastIndexOf('node_modules/');
  if (inside < 0) return shortened(file);
  const [scope, name] = file.slice(inside + 'node_modules/'.length).split('/');
  return scope.startsWith('@') ? `${scope}/${name}` : scope;
}

const shortened = (file: string): string =>
  file.replace(/^.*node_modules\//, '').replace(/^.*\/(dist\/src|bench|src)\//, '$1/');

/** The service's largest costs beyond the peer's. */
function differences(title: string, pg: Costs, service: Costs): string {
  const names = [...new Set([...pg.keys(), ...service.keys()])].filter((name) => name !== '(idle)');
  const rows = names
    .map((name) => ({ name, pg: pg.get(name) ?? 0, service: service.get(name) ?? 0 }))
    .sort((a, b) => b.service - b.pg - (a.service - a.pg));
  const sum = (costs: Costs): number =>
    [...costs].reduce((total, [name, cost]) => total + (name === '(idle)' ? 0 : cost), 0);
  const shown = [{ name: 'all', pg: sum(pg), service: sum(service) }, ...rows.slice(0, TOP)];
  const cells = shown.map((each) => [
    each.name,
    each.pg.toFixed(1),
    each.service.toFixed(1),
    (each.service - each.pg).toFixed(1),
  ]);
  return table([title, 'pg', 'service', 'more'], cells);
}
