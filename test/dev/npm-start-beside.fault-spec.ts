import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { until } from '../support/app';
import { eventually } from '../support/chain/chain-bench';

const ROOT = path.join(__dirname, '../..');
const LOCAL = 'dist/src/dev/local.js';

/** `npm start` in a folder, without npm and the build. */
class Start {
  output = '';
  private readonly process: ChildProcess;
  readonly ended: Promise<number | null>;

  constructor(folder: string, settings: NodeJS.ProcessEnv = {}) {
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, ...settings };
    const stdio = ['ignore', 'pipe', 'pipe'] as const;
    this.process = spawn(process.execPath, [LOCAL], { cwd: folder, env, stdio: [...stdio] });
    for (const stream of [this.process.stdout, this.process.stderr])
      stream!.on('data', (text: Buffer) => (this.output += text.toString()));
    this.ended = new Promise((resolve) => this.process.once('close', resolve));
  }

  async up(): Promise<this> {
    await until(() => {
      if (this.process.exitCode !== null) throw new Error(`it ended:\n${this.output}`);
      return this.output.includes('Ctrl-C stops everything.');
    });
    return this;
  }

  /** What it printed, by name. */
  get addresses(): Record<string, string> {
    const lines = this.output.matchAll(/^ {2}(Page|API|Indexer|Database|Chain) +(\S+)$/gm);
    return Object.fromEntries([...lines].map(([, name, address]) => [name, address]));
  }

  stop(): Promise<number | null> {
    this.process.kill('SIGTERM');
    return this.ended;
  }
}

/** Whether page, API, indexer and chain answer where it printed. */
async function answers({ addresses }: Start): Promise<Record<string, number>> {
  const { Page, API, Indexer, Chain } = addresses;
  const chain = { method: 'POST', headers: { 'content-type': 'application/json' } };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] });
  const asked = { Page, API: `${API}/health`, Indexer };
  const statuses = Object.entries(asked).map(
    async ([name, url]) => [name, (await fetch(url)).status] as const,
  );
  const { status } = await fetch(Chain, { ...chain, body });
  return { ...Object.fromEntries(await Promise.all(statuses)), Chain: status };
}

/** An indexer that follows the chain may be behind for a moment. */
async function allAnswer(start: Start): Promise<void> {
  await eventually(
    'all to answer',
    () => answers(start),
    (found) => isDeepStrictEqual(found, ALL),
  );
}

const ALL = { Page: 200, API: 200, Indexer: 200, Chain: 200 };

it('npm start works beside others: in two folders at once, with one in each, and none of it is shared', async () => {
  const folders = [0, 1].map(() => {
    const folder = mkdtempSync(path.join(tmpdir(), 'start-'));
    // PostgreSQL runs as another user when the tests run as root.
    chmodSync(folder, 0o755);
    symlinkSync(path.join(ROOT, 'dist'), path.join(folder, 'dist'));
    return folder;
  });
  const starts = folders.map((folder) => new Start(folder));
  const [first, second] = starts;
  try {
    await Promise.all(starts.map((start) => start.up()));
    const [here, there] = starts.map(({ addresses }) => addresses);
    for (const name of Object.keys(here)) expect([name, there[name]]).not.toEqual([name, here[name]]);
    for (const start of starts) await allAnswer(start);

    const { API } = there;
    expect(await (await fetch(`${API}/docs/openapi.json`)).json()).toMatchObject({ servers: [{ url: API }] });

    const third = new Start(folders[0]);
    expect(await third.ended).toBe(1);
    expect(third.output).toMatch(
      /^npm start runs in this folder already: process \d+, http:\/\/localhost:\d+\./,
    );
    expect(third.output).toContain(here.API);
    const taken = new URL(here.API).port;
    const settings = { PORT: taken, DATABASE_URL: 'postgres://127.0.0.1/x', RPC_URL: here.Chain };
    const fourth = new Start(folders[1], settings);
    expect(await fourth.ended).toBe(1);
    expect(fourth.output).toContain(`Port ${taken} is taken by another start; set PORT`);
    for (const start of starts) await allAnswer(start);

    await first.stop();
    await allAnswer(second);
  } finally {
    await Promise.all(starts.map((start) => start.stop()));
    for (const folder of folders)
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
  }
});
