import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type AnvilNode, startAnvil } from '#dev/anvil';
import { type Deployment, deployContracts } from '#dev/deploy';
import { freePort } from '#dev/ports';
import { JWT_SECRET, METRICS_TOKEN } from '../support/app';
import { type TestDatabase, emptyDatabase, query } from '../support/database';
import { eventually } from '../support/processes/processes';

const ROOT = join(__dirname, '../..');
const BUILD_MS = 20 * 60_000;
/** IMAGE names one that is built already. */
const { IMAGE } = process.env;
const own = `localhost/pooled-savings-test:${randomBytes(6).toString('hex')}`;
const base = `localhost/pooled-savings-base:${randomBytes(6).toString('hex')}`;
const tag = IMAGE ?? own;

let container: string | undefined;
let root: string;
let database: TestDatabase;
let chain: AnvilNode;
let deployment: Deployment;
const running: Run[] = [];

const buildah = (...args: string[]): string =>
  execFileSync('buildah', args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, BUILDAH_ISOLATION: 'chroot' },
  }).trim();

function script(file: string, ...args: string[]): void {
  execFileSync(file, args, {
    env: { ...process.env, BUILDAH_ISOLATION: 'chroot' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

/** A command in the file system of the image. */
class Run {
  output = '';
  readonly ended: Promise<number | null>;
  private readonly child: ChildProcess;

  constructor(settings: Record<string, string>, ...command: string[]) {
    const environment = Object.entries({ ...fromImage(), ...settings }).map((pair) => pair.join('='));
    this.child = spawn(join(__dirname, 'run.sh'), [root, ...environment, ...command], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const keep = (chunk: Buffer): void => void (this.output += chunk.toString());
    this.child.stdout!.on('data', keep);
    this.child.stderr!.on('data', keep);
    this.ended = new Promise((resolve) => this.child.once('close', resolve));
    running.push(this);
  }

  /** The command itself: the only child of `unshare`, which passes on no signal. */
  get pid(): number {
    const outer = this.child.pid!;
    return Number(readFileSync(`/proc/${outer}/task/${outer}/children`, 'utf8').trim());
  }

  /** Not by way of `unshare`: what it starts changes its user, and so outlives it. */
  async kill(): Promise<void> {
    if (this.child.exitCode === null) process.kill(this.pid, 'SIGKILL');
    await this.ended;
  }

  /** Waits until the address answers with 200. */
  async answers(url: string): Promise<void> {
    await eventually(async () => {
      if (this.child.exitCode !== null) throw new Error(`it ended:\n${this.output}`);
      return fetch(url).then(
        ({ ok }) => ok,
        () => false,
      );
    });
  }

  async terminate(): Promise<number | null> {
    process.kill(this.pid, 'SIGTERM');
    return this.ended;
  }
}

/** The settings that the image brings, which a container gets. */
const fromImage = (): Record<string, string> =>
  Object.fromEntries(
    (JSON.parse(buildah('inspect', '--type', 'image', tag)) as Inspected).OCIv1.config.Env.map(
      (pair) => pair.split(/=(.*)/s).slice(0, 2) as [string, string],
    ).filter(([name]) => name !== 'PATH'),
  );
interface Inspected {
  OCIv1: { config: { Env: string[]; Labels: Record<string, string>; User: string } };
}

const settings = (): Record<string, string> => ({
  HOST: '127.0.0.1',
  DATABASE_URL: database.url,
  JWT_SECRET,
  METRICS_TOKEN,
  SIWE_DOMAINS: 'app.example.org',
  CHAIN_ID: '31337',
  RPC_URL: chain.url,
  POOL_CONTRACTS: Object.entries(deployment.contracts)
    .map((pair) => pair.join('='))
    .join(','),
});

beforeAll(async () => {
  if (!IMAGE) {
    script(join(__dirname, 'base.sh'), base);
    script(join(ROOT, 'deploy/image/build.sh'), own, '--build-arg', `NODE_IMAGE=${base}`);
  }
  container = buildah('from', tag);
  root = buildah('mount', container);
  database = await emptyDatabase();
  chain = await startAnvil();
  deployment = await deployContracts(chain.url);
}, BUILD_MS);
afterAll(async () => {
  await Promise.all(running.map((each) => each.kill()));
  if (container) buildah('rm', container);
  if (!IMAGE) buildah('rmi', '--force', own, base);
  await chain?.stop();
  await database?.drop();
});

it('is labelled, runs as user 1000, and knows its commit', () => {
  const { config } = (JSON.parse(buildah('inspect', '--type', 'image', tag)) as Inspected).OCIv1;
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    version: string;
  };
  expect(config.User).toBe('1000:1000');
  expect(config.Labels).toMatchObject({
    'org.opencontainers.image.title': 'pooled-savings',
    'org.opencontainers.image.licenses': 'MIT',
    'org.opencontainers.image.version': version,
  });
  const commit = config.Labels['org.opencontainers.image.revision'];
  expect(config.Env).toContain(`BUILD_COMMIT=${commit}`);
});

it('has what production needs, and nothing else', () => {
  const all = readdirSync(join(root, 'app'), { recursive: true, encoding: 'utf8' });
  expect(
    all.filter((file) => /^node_modules\/.*[^/]\.(map|d\.ts|md)$/.test(file) && !/licen[cs]e/i.test(file)),
  ).toEqual([]);
  expect(
    all.filter((file) => /^dist\/src\/dev|^node_modules\/(jest|typescript|solc|@foundry-rs)\b/.test(file)),
  ).toEqual([]);
  expect(all.some((file) => /^node_modules\/pg\/LICENSE/i.test(file))).toBe(true);
  expect(existsSync(join(root, 'app/dist/src/main.js.map'))).toBe(true);
  expect(all.some((file) => file.startsWith('.compile-cache/') && file.includes('-1000/'))).toBe(true);
  const kilobytes = Number(
    execFileSync('du', ['-sk', join(root, 'app')], { encoding: 'utf8' }).split('\t')[0],
  );
  expect(kilobytes).toBeLessThan(200 * 1024);
});

it('can write nothing, and gain nothing', async () => {
  const tried = `
    const fs = require('node:fs');
    const fails = ['/app/x', '/app/.compile-cache/x', '/tmp/x', '/home/node/x'].map((file) => {
      try { fs.writeFileSync(file, ''); return file } catch { return '' } });
    const status = fs.readFileSync('/proc/self/status', 'utf8');
    console.log(JSON.stringify({ pid: process.pid, uid: process.getuid(), written: fails.join(''),
      capabilities: /CapBnd:\\s*(\\w+)/.exec(status)[1], privileges: /NoNewPrivs:\\s*(\\d)/.exec(status)[1] }))`;
  const run = new Run({}, 'node', '-e', tried);
  expect(await run.ended).toBe(0);
  expect(JSON.parse(run.output)).toEqual({
    pid: 1,
    uid: 1000,
    written: '',
    capabilities: '0000000000000000',
    privileges: '1',
  });
});

it('runs the migrations, then the API, the indexer and the keeper, which end on SIGTERM', async () => {
  const migrate = new Run({ DATABASE_URL: database.url }, 'node', 'dist/src/migrate.js');
  expect([await migrate.ended, migrate.output]).toEqual([0, expect.any(String)]);
  const [{ tables }] = await query<{ tables: number }>(
    database.url,
    `SELECT count(*)::int AS tables FROM pg_tables WHERE schemaname = 'public'`,
  );
  expect(tables).toBeGreaterThan(20);

  const [port, indexerPort, keeperPort] = [await freePort(), await freePort(), await freePort()];
  const api = new Run({ ...settings(), PORT: `${port}` }, 'node', 'dist/src/main.js');
  const indexer = new Run({ ...settings(), INDEXER_PORT: `${indexerPort}` }, 'node', 'dist/src/indexer.js');
  const key = `0x${randomBytes(32).toString('hex')}`;
  const keeper = new Run(
    { ...settings(), KEEPER_PORT: `${keeperPort}`, KEEPER_KEY: key },
    'node',
    'dist/src/keeper.js',
  );
  const url = `http://127.0.0.1:${port}`;
  await api.answers(`${url}/health/ready`);
  await api.answers(`${url}/health/live`);
  await indexer.answers(`http://127.0.0.1:${indexerPort}/health`);
  await keeper.answers(`http://127.0.0.1:${keeperPort}/health`);
  await eventually(async () => {
    const health = (await (await fetch(`${url}/health`)).json()) as { services: { blockchain: string } };
    return health.services.blockchain === 'synced';
  });
  const nonce = await fetch(`${url}/auth/nonce`);
  expect(nonce.status).toBe(200);
  const metrics = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } });
  expect(await metrics.text()).toMatch(/^savings_build_info\{.*version=/m);

  const ends = await Promise.all([api, indexer, keeper].map((each) => each.terminate()));
  expect(ends).toEqual([0, 0, 0]);
});
