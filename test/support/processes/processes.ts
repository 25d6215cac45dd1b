import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { freePort } from '#dev/ports';

/** What `npm run build` made. */
export const BUILT = join(__dirname, '../../../dist/src');
/** Bytes of a process's output that are kept, to tell why it failed. */
const LOG_TAIL = 50_000;

/** A child process that ends with this process in every case. */
export abstract class Child {
  protected process?: ChildProcess;
  protected log = '';
  /** Resolves with the exit code, null after a signal that kills, once all its output has been read. */
  ended: Promise<number | null> = Promise.resolve(null);

  get pid(): number {
    if (!this.process?.pid) throw new Error(`${this.constructor.name} does not run`);
    return this.process.pid;
  }

  /** The end of what it has written. */
  get output(): string {
    return this.log;
  }

  get running(): boolean {
    return this.process !== undefined && this.process.exitCode === null && this.process.signalCode === null;
  }

  protected adopt(child: ChildProcess): void {
    this.process = child;
    this.log = '';
    const keep = (chunk: Buffer): void => void (this.log = (this.log + chunk.toString()).slice(-LOG_TAIL));
    child.stdout?.on('data', keep);
    child.stderr?.on('data', keep);
    child.on('error', (error) => keep(Buffer.from(error.message)));
    const end = (): void => void child.kill('SIGKILL');
    process.once('exit', end);
    child.once('exit', () => process.off('exit', end));
    this.ended = new Promise((resolve) => child.once('close', resolve));
  }

  signal(signal: NodeJS.Signals): void {
    this.process?.kill(signal);
  }

  /** Sends the signal and waits for the end. Resolves as `ended` does. */
  end(signal: NodeJS.Signals): Promise<number | null> {
    const { ended } = this;
    if (this.running) this.signal(signal);
    return ended;
  }
}

/** A process of the service, built as in production. */
export class Service extends Child {
  constructor(
    private readonly entry: 'main' | 'indexer',
    private readonly settings: NodeJS.ProcessEnv,
    private readonly built = BUILT,
  ) {
    super();
  }

  async start(): Promise<void> {
    const file = join(this.built, `${this.entry}.js`);
    if (!existsSync(file)) throw new Error('the fault tests run the built service: `npm run build` first');
    const child = fork(file, {
      // Does not pass on jest's flags and NODE_OPTIONS.
      execArgv: [],
      env: { PATH: process.env.PATH, ...this.settings },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.adopt(child);
    await Promise.race([
      once(child, 'message'),
      this.ended.then(() => Promise.reject(new Error(`${this.entry} did not start:\n${this.log}`))),
    ]);
  }
}

/** One API process, always on the same port. */
export class Replica extends Service {
  constructor(
    readonly port: number,
    settings: NodeJS.ProcessEnv,
    built?: string,
  ) {
    super('main', { ...settings, PORT: `${port}` }, built);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }
}

/** A Redis server that stores nothing on disk, always on the same port. */
export class RedisServer extends Child {
  private constructor(readonly port: number) {
    super();
  }

  static async start(): Promise<RedisServer> {
    const server = new RedisServer(await freePort());
    await server.start();
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const flags = ['--port', `${this.port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    const child = spawn('redis-server', flags, { cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] });
    this.adopt(child);
    if (!child.pid)
      throw new Error(
        'redis-server is missing: install it (apt-get install redis-server) for the fault tests',
      );
    await eventually(() => {
      if (!this.running) throw new Error(`redis-server did not start:\n${this.log}`);
      return this.log.includes('Ready to accept connections');
    });
  }
}

/** Waits until the condition holds. A lasting fault then fails the test, and leaves nothing running. */
export async function eventually(condition: () => unknown, limit = 110_000): Promise<void> {
  const end = Date.now() + limit;
  while (!(await condition())) {
    if (Date.now() > end)
      throw new Error(`this did not come true within ${limit / 1000} s: ${String(condition)}`);
    await wait(10);
  }
}
