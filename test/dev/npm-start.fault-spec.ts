import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createPublicClient, http } from 'viem';
import { privateKeyToAddress } from 'viem/accounts';
import { freePort } from '#dev/ports';
import { until } from '../support/app';

const ROOT = path.join(__dirname, '../..');
/** The end of what it prints once everything is up. */
const READY = 'Ctrl-C stops everything.';

/** Whether something listens there. */
const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = new Socket();
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('close', () => socket.destroy());
    socket.connect(port, '127.0.0.1');
    socket.once('connect', () => socket.destroy());
  });

describe('npm start', () => {
  let folder: string;
  let npm: ChildProcess;
  let output: string;
  let port: number;
  let indexerPort: number;

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'start-'));
    // PostgreSQL runs as another user when the tests run as root.
    chmodSync(folder, 0o755);
    const { scripts } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    // The command as it is, but not the build, which the other tests need left alone.
    writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ scripts: { start: scripts.start } }));
    symlinkSync(path.join(ROOT, 'dist'), path.join(folder, 'dist'));
    [port, indexerPort] = [await freePort(), await freePort()];
    // The chain has a port of its own: another start could take the usual one while this one is stopped.
    mkdirSync(path.join(folder, '.data'));
    writeFileSync(path.join(folder, '.data/chain-port'), `${await freePort()}`);
  });
  afterEach(async () => {
    npm.kill('SIGTERM');
    // The next start uses the same folder and ports.
    if (output.includes(READY)) await stopped();
    // What it left running would keep the streams open.
    for (const stream of [npm.stdout, npm.stderr]) stream!.destroy();
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  async function start(...args: string[]): Promise<void> {
    output = '';
    npm = spawn('npm', ['start', '--', ...args], {
      cwd: folder,
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        PORT: `${port}`,
        INDEXER_PORT: `${indexerPort}`,
        LOG_SQL: '1',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [npm.stdout, npm.stderr])
      stream!.on('data', (text: Buffer) => (output += text.toString()));
    await until(() => {
      if (npm.exitCode !== null) throw new Error(`npm start ended:\n${output}`);
      return output.includes(READY);
    });
  }

  /** Of everything that listens: API, indexer, database, chain. */
  function ports(): number[] {
    const [, database] = /Database +postgres:\/\/[^\n]*:(\d+)\//.exec(output)!;
    return [port, indexerPort, Number(database), chainPort()];
  }
  const chainPort = (): number => Number(/Chain +http:\/\/127\.0\.0\.1:(\d+)/.exec(output)![1]);

  const allGone = async (all: number[]): Promise<boolean> =>
    !(await Promise.all(all.map(listens))).includes(true);
  /** Waits until all of it has ended. It saves the chain after its port has closed, and locks its folder until then. */
  async function stopped(all = ports()): Promise<void> {
    await until(() => allGone(all));
    await until(() => npm.stdout!.readableEnded);
  }

  it('tells what it does, and what there is; stops with SIGTERM to npm; has the same chain again', async () => {
    await start('--inspect=0');
    // The API, and the indexer.
    expect(output.match(/^Debugger listening on/gm)).toHaveLength(2);
    for (const step of [
      'Starting a chain',
      'Deploying the contracts',
      'Starting PostgreSQL',
      'Starting the API',
    ])
      expect(output).toMatch(new RegExp(`^ +\\d+\\.\\d s  ${step}$`, 'm'));
    // Nothing that the API and the indexer print comes between the lines of the start.
    expect(output.slice(0, output.indexOf(READY))).not.toMatch(/^\{/m);
    const log = path.join(folder, '.data/postgres/postgres.log');
    expect(readFileSync(log, 'utf8')).toMatch(/duration: \d+\.\d+ ms +execute schema_state: /);
    await until(() => /^\{"level":"info".*listening/m.test(output));
    const all = ports();
    for (const each of all) expect([each, await listens(each)]).toEqual([each, true]);

    const [, address] = /address +(0x\w{40})/.exec(output)!;
    const [, key] = /private key +(0x\w{64})/.exec(output)!;
    const [, token] = /Token +(0x\w{40})/.exec(output)!;
    expect(privateKeyToAddress(key as `0x${string}`)).toBe(address);
    const chain = createPublicClient({ transport: http(`http://127.0.0.1:${chainPort()}`) });
    expect(await chain.getBalance({ address: address as `0x${string}` })).toBeGreaterThan(0n);
    const { data } = await chain.call({
      to: token as `0x${string}`,
      data: `0x70a08231${address.slice(2).padStart(64, '0')}`,
    });
    expect(BigInt(data!)).toBe(1000n * 10n ** 18n);

    const origin = 'http://localhost:5173';
    const page = await fetch(`http://127.0.0.1:${port}/auth/nonce`, { headers: { origin } });
    expect(page.headers.get('access-control-allow-origin')).toBe(origin);

    npm.kill('SIGTERM');
    await once(npm, 'exit');
    await stopped(all);

    const before = chainPort();
    await start();
    expect(chainPort()).toBe(before);
    expect(output).not.toContain('Deploying');
  });

  it('stops when npm is killed', async () => {
    await start();
    const all = ports();
    npm.kill('SIGKILL');
    await stopped(all);
  });

  it('takes another port for the chain when its own is taken, and keeps that one', async () => {
    const taken = createServer().listen(
      Number(readFileSync(path.join(folder, '.data/chain-port'), 'utf8')),
      '127.0.0.1',
    );
    await once(taken, 'listening');
    const { port: old } = taken.address() as { port: number };
    try {
      await start();
    } finally {
      taken.close();
    }
    const next = chainPort();
    expect(next).not.toBe(old);
    npm.kill('SIGTERM');
    await stopped();
    await start();
    expect(chainPort()).toBe(next);
    const all = ports();
    npm.kill('SIGTERM');
    await stopped(all);
  });
});
