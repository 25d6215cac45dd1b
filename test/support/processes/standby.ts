import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { QueryResultRow } from 'pg';
import { freePort } from '#dev/ports';
import { accountForServer, findBinaries } from '#dev/postgres';
import { until } from '../app';
import { query } from '../database';

/** A standby that streams from a primary. */
export class Standby {
  private constructor(
    readonly url: string,
    private readonly data: string,
    private readonly child: ChildProcess,
  ) {}

  /** @returns a copy of the folder of a server that does not run, beside it */
  static async copy(from: string, name: string): Promise<string> {
    const data = join(dirname(from), name);
    await promisify(execFile)('cp', ['-a', from, data]);
    await writeFile(join(data, 'standby.signal'), '');
    return data;
  }

  /** @param primary url of the server that it follows */
  static async start(data: string, primary: string): Promise<Standby> {
    const account = accountForServer();
    const [url, leader] = [new URL(primary), new URL(primary)];
    leader.pathname = '/postgres';
    url.port = `${await freePort()}`;
    const settings = {
      primary_conninfo: leader.href,
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      wal_retrieve_retry_interval: '100ms',
    };
    const flags = Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]);
    const binary = join(await findBinaries(account), 'bin/postgres');
    const child = spawn(binary, ['-D', data, '-p', url.port, ...flags], {
      ...account,
      env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' },
      cwd: '/',
      stdio: 'ignore',
    });
    const standby = new Standby(url.href, data, child);
    await until(() => {
      if (child.exitCode !== null) throw new Error(`the standby in ${data} did not start`);
      return standby
        .sql(`SELECT FROM pg_stat_wal_receiver WHERE status = 'streaming'`)
        .then(({ length }) => length > 0)
        .catch(() => false);
    });
    return standby;
  }

  sql<Row extends QueryResultRow>(text: string): Promise<Row[]> {
    return query<Row>(this.url, text);
  }

  /** Waits until it has replayed all that the server at the url has written. */
  async caughtUp(url: string): Promise<void> {
    const position = await written(url);
    await until(() => this.hasReplayed(position));
  }

  async isBehind(url: string): Promise<boolean> {
    return !(await this.hasReplayed(await written(url)));
  }

  private async hasReplayed(position: string): Promise<boolean> {
    const text = `SELECT pg_last_wal_replay_lsn() >= '${position}' AS done`;
    const [{ done }] = await this.sql<{ done: boolean }>(text);
    return done;
  }

  /** Stops it, and returns its folder. */
  async stop(): Promise<string> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const ended = new Promise((resolve) => this.child.once('exit', resolve));
      this.child.kill('SIGINT');
      await ended;
    }
    return this.data;
  }
}

async function written(url: string): Promise<string> {
  return (await query<{ lsn: string }>(url, 'SELECT pg_current_wal_insert_lsn() AS lsn'))[0].lsn;
}
