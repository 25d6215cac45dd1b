import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '#dev/ports';
import { type BenchDatabase, callers } from './database';
import { drive, median } from './drive';
import { type Endpoint, endpoints, reading } from './loads';
import { rounded } from './measure';
import { type Limited, Progress, keep, publish, say } from './output';
import { ENVIRONMENT, PEERS, ROOT } from './peers';
import { startTables } from './tables';

const SIZE = { pools: 1000, transactions: 10_000 };
const ROUNDS = 5;
const POLL_MS = 2;
const IDLE_MS = 500;
const LOAD_SECONDS = 1.5;
const ALIVE = '/health/live';
/** What fills the compile cache of the image. */
const WARM_UP = /NODE_COMPILE_CACHE=\S+ node -e "([^"]+)"/;
const LARGEST = 6;

interface Candidate {
  name: string;
  script: string;
  env: NodeJS.ProcessEnv;
  load: Endpoint;
}

/** In ms and MiB. */
interface Start {
  ms: number;
  idle: number;
  loaded: number;
}

export interface StartResults {
  node: string;
  results: (Start & { name: string })[];
  packages: { count: number; mib: number; largest: { name: string; mib: number }[] };
}

/** Time to the first answer, and memory, of the service beside a bare Nest application. Writes results-start.json. */
export async function start(database: BenchDatabase, limited: Limited): Promise<void> {
  const DATABASE_URL = await database.copy(await database.filled(SIZE), 'bench_start');
  const readers = await callers(DATABASE_URL, 32);
  const cache = mkdtempSync(path.join(tmpdir(), 'bench-compiled-'));
  try {
    const service = {
      name: 'service',
      script: PEERS.service.script,
      env: { ...ENVIRONMENT, DATABASE_URL },
      load: endpoints(readers, []).find(({ name }) => name === 'GET /pools/:id')!,
    };
    const candidates: Candidate[] = [
      {
        name: 'bare Nest',
        script: path.join(__dirname, 'peers', 'nest.js'),
        env: { PATH: process.env.PATH, NODE_ENV: 'production' },
        load: reading(readers, '', () => [ALIVE]),
      },
      service,
    ];
    const cached = { ...service.env, NODE_COMPILE_CACHE: cache };
    if (fillCache(cached)) candidates.push({ ...service, name: 'service as in the image', env: cached });
    else say('The image has no compile cache on this version of Node.');

    const progress = new Progress('Starting', ROUNDS * candidates.length);
    const starts = new Map(candidates.map(({ name }) => [name, [] as Start[]]));
    for (let round = 0; round < ROUNDS; round++)
      for (const candidate of round % 2 ? [...candidates].reverse() : candidates) {
        starts.get(candidate.name)!.push(await run(candidate));
        progress.step(candidate.name);
      }
    progress.end();
    report(starts, limited);
  } finally {
    rmSync(cache, { recursive: true });
  }
}

/** @returns whether this version of Node has kept anything */
function fillCache(env: NodeJS.ProcessEnv): boolean {
  const [, code] = WARM_UP.exec(readFileSync(path.join(ROOT, 'Dockerfile'), 'utf8'))!;
  execFileSync(process.execPath, ['-e', code], { cwd: ROOT, env });
  return (
    Number(execFileSync('du', ['-s', env.NODE_COMPILE_CACHE!], { encoding: 'utf8' }).split('\t')[0]) > 100
  );
}

async function run({ script, env, load: { load } }: Candidate): Promise<Start> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const begun = performance.now();
  const child = spawn(process.execPath, [script], {
    cwd: ROOT,
    env: { ...env, PORT: `${port}` },
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  try {
    while (!(await isAlive(url))) {
      if (child.exitCode !== null) throw new Error(`${script} ended with ${child.exitCode}`);
      await sleep(POLL_MS);
    }
    const ms = performance.now() - begun;
    await sleep(IDLE_MS);
    const idle = residentMiB(child.pid!);
    await drive(url, load, { seconds: LOAD_SECONDS });
    return { ms, idle, loaded: residentMiB(child.pid!) };
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
}

async function isAlive(url: string): Promise<boolean> {
  return fetch(url + ALIVE).then(
    async (response) => {
      await response.text();
      return response.ok;
    },
    () => false,
  );
}

/** NaN on systems without /proc. */
function residentMiB(pid: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
  } catch {
    return NaN;
  }
}

function report(starts: Map<string, Start[]>, limited: Limited): void {
  const results = [...starts].map(([name, all]) => ({
    name,
    ms: rounded(median(all.map(({ ms }) => ms)), 0),
    idle: rounded(median(all.map(({ idle }) => idle)), 0),
    loaded: rounded(median(all.map(({ loaded }) => loaded)), 0),
  }));
  const all = productionPackages();
  const packages = {
    count: all.length,
    mib: rounded(
      all.reduce((sum, { mib }) => sum + mib, 0),
      0,
    ),
    largest: all.slice(0, LARGEST).map(({ name, mib }) => ({ name, mib: rounded(mib, 1) })),
  };
  const measured: StartResults = { node: process.versions.node, results, packages };
  console.log(startTables(measured));
  keep('results-start.json', measured);
  publish('results-start.json', limited);
}

/** The packages that the image has, largest first. */
function productionPackages(): { name: string; mib: number }[] {
  const lock = JSON.parse(readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: true; optional?: true; devOptional?: true; link?: true }>;
  };
  return Object.entries(lock.packages)
    .filter(([at, { dev, optional, devOptional, link }]) => {
      const isNeeded = at.startsWith('node_modules/') && !dev && !optional && !devOptional && !link;
      return isNeeded && statSync(path.join(ROOT, at), { throwIfNoEntry: false });
    })
    .map(([at]) => {
      const folder = path.join(ROOT, at);
      const text = execFileSync('du', ['-sk', '--exclude=node_modules', '.'], {
        cwd: folder,
        encoding: 'utf8',
      });
      return { name: at.replace(/^.*node_modules\//, ''), mib: Number(text.split('\t')[0]) / 1024 };
    })
    .sort((a, b) => b.mib - a.mib);
}
