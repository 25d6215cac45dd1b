import { execFile, execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chmod, mkdtemp } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { urlAs } from '#dev/settings';

/** APP_PASSWORD of cluster.env. */
const PASSWORD = 'savings';
/** Offsets of the ports that cluster.env and recover.sh take from BASE_PORT on. */
const OFFSETS = [1, 2, 11, 12, 13, 19, 21, 22, 23, 30, 31, 39, 40];
/** Below those of `freePort`: another test could be given the port of a node while that node is down. */
const [FIRST_BASE, LAST_BASE] = [10_000, 20_000];
/** Of a command; the longest waits until every node follows. */
const LIMIT_MS = 180_000;

/** The cluster of cluster.sh on free ports, in a folder of its own. */
export class Cluster {
  /** Ends what was started, even if this process ends early. */
  private readonly destroyAtExit = (): void => {
    execFileSync('/bin/bash', [join(__dirname, 'cluster.sh'), 'destroy'], { env: this.env, stdio: 'ignore' });
  };

  private constructor(
    private readonly env: NodeJS.ProcessEnv,
    /** Whether nodes can be disconnected. */
    readonly namespaces: boolean,
  ) {}

  /** @param settings those of cluster.env that differ */
  static async up(settings: NodeJS.ProcessEnv = {}): Promise<Cluster> {
    const folder = await mkdtemp(join(tmpdir(), 'pooled-savings-cluster-'));
    await chmod(folder, 0o755); // the nodes have an account of their own
    const namespaces = canDisconnect();
    const cluster = new Cluster(
      {
        PATH: process.env.PATH,
        STATE: folder,
        BASE_PORT: `${await freeBase()}`,
        NAMESPACES: `${namespaces}`,
        ...settings,
      },
      namespaces,
    );
    process.once('exit', cluster.destroyAtExit);
    await cluster.run('up');
    return cluster;
  }

  /** For the account that owns the schema. */
  get url(): string {
    return `postgres://savings:${PASSWORD}@127.0.0.1:${Number(this.env.BASE_PORT) + 30}/savings`;
  }

  /** For the processes of the service, which cannot change a definition. */
  get urls(): { api: string; indexer: string } {
    return { api: urlAs(this.url, 'api', PASSWORD), indexer: urlAs(this.url, 'indexer', PASSWORD) };
  }

  /** A command of cluster.sh. @returns what it prints @throws when it fails, with what it says */
  run(...command: (string | number)[]): Promise<string> {
    return this.script('cluster.sh', ...command);
  }

  /** The same, of another script in this folder. */
  async script(name: string, ...command: (string | number)[]): Promise<string> {
    const { stdout } = await promisify(execFile)(
      '/bin/bash',
      [join(__dirname, name), ...command.map(String)],
      {
        env: this.env,
        timeout: LIMIT_MS,
        maxBuffer: 2 ** 24,
      },
    );
    return stdout.trim();
  }

  /** The number of the leader, if there is one. */
  leader(): Promise<string | undefined> {
    return this.run('leader').catch(() => undefined);
  }

  /** The number of a synchronous standby, if there is one. */
  synchronous(): Promise<string | undefined> {
    return this.run('sync').catch(() => undefined);
  }

  async destroy(): Promise<void> {
    process.off('exit', this.destroyAtExit);
    await this.run('destroy');
  }
}

function canDisconnect(): boolean {
  const probe = `savings-probe-${process.pid}`;
  try {
    execFileSync('ip', ['netns', 'add', probe], { stdio: 'ignore' });
    execFileSync('ip', ['netns', 'del', probe], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

async function freeBase(): Promise<number> {
  // Workers never choose the same.
  const worker = Number(process.env.JEST_WORKER_ID ?? 0) % 10;
  for (;;) {
    const base =
      FIRST_BASE + 1000 * Math.floor(Math.random() * ((LAST_BASE - FIRST_BASE) / 1000)) + 100 * worker;
    const free = await Promise.all(OFFSETS.map((offset) => isFree(base + offset)));
    if (free.every(Boolean) && !hasCables(base)) return base;
  }
}

/** Whether a killed cluster has left its network, which outlives its processes. */
const hasCables = (base: number): boolean =>
  existsSync('/sys/class/net') && readdirSync('/sys/class/net').some((name) => name.startsWith(`pg${base}.`));

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
