import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { writePoolOptions } from '#platform/database/data-source';
import { LIMITS } from '#platform/postgres/budget';
import { withClient } from '#dev/postgres';
import type { Caller } from './database';
import { READS, type Script, WRITES, askedBy } from './endpoints';

const SCRIPTS: Script[] = [...READS, ...WRITES];
/** Requests of a run of a script that reads. */
const TOGETHER = 8;
const CLIENTS = { reads: 4, writes: 32 };

/** What PostgreSQL and pgbench, which do nothing else, reach with the statements of an endpoint. */
export class Limit {
  private constructor(
    private readonly url: string,
    private readonly pgbench: string,
    private readonly folder: string,
  ) {}

  /** Undefined where there is no pgbench. */
  static async prepare(url: string, readers: Caller[], writers: Caller[]): Promise<Limit | undefined> {
    const pgbench = findPgbench();
    if (!pgbench) return undefined;
    const rows = SCRIPTS.flatMap((script, at) =>
      (isWrite(script) ? writers : readers).map((caller, n) => [at, n, variablesOf(script, caller)]),
    );
    await withClient(url, async (client) => {
      await client.query('CREATE TABLE bench_values (script integer, n integer, variables jsonb)');
      await client.query(
        'INSERT INTO bench_values SELECT (r ->> 0)::integer, (r ->> 1)::integer, r -> 2 FROM jsonb_array_elements($1::jsonb) r',
        [JSON.stringify(rows)],
      );
    });
    return new Limit(url, pgbench, mkdtempSync(path.join(tmpdir(), 'bench-limit-')));
  }

  /** Requests per second that the statements of an endpoint would allow. */
  async rate(endpoint: string, seconds: number): Promise<number> {
    const script = SCRIPTS.find(({ name }) => name === endpoint)!;
    const file = path.join(this.folder, 'script.sql');
    writeFileSync(file, scriptOf(script));
    const clients = isWrite(script) ? CLIENTS.writes : CLIENTS.reads;
    const options = ['-n', '-M', 'prepared', '-c', clients, '-j', 2, '-T', Math.ceil(seconds), '-f', file];
    const limits = { ...LIMITS, runningMs: 10_000 };
    const settings = { DATABASE_URL: this.url, DATABASE_POOL_SIZE: 16, limits };
    const { stdout } = await promisify(execFile)(
      this.pgbench,
      [...options.map(String), '-D', 'ready=0', this.url],
      { env: { ...process.env, PGOPTIONS: writePoolOptions(settings).options } },
    );
    const tps = Number(/^tps = ([\d.]+)/m.exec(stdout)?.[1]);
    return isWrite(script) ? tps : tps * TOGETHER;
  }

  end(): void {
    rmSync(this.folder, { recursive: true });
  }
}

const isWrite = (script: Script): boolean => WRITES.includes(script);

/** Reads are sent together, each for another pool or transaction of the caller. */
const numbers = (script: Script): number[] =>
  Array.from({ length: isWrite(script) ? 1 : TOGETHER }, (_, i) => i);

/** Variables of pgbench: `pool_0` is the parameter `pool` of the first request. */
function variablesOf(script: Script, caller: Caller): Record<string, string> {
  const asked = askedBy(caller, script);
  const pairs = numbers(script).flatMap((i) =>
    Object.entries(script.values(asked[i % asked.length])).map(([name, value]) => [
      `${name}_${i}`,
      textOf(value),
    ]),
  );
  return Object.fromEntries(pairs) as Record<string, string>;
}

/** As PostgreSQL reads it. pgbench's variables have no null, so an empty one stands for it. */
const textOf = (value: string | number | null | unknown[]): string =>
  Array.isArray(value)
    ? `{${value.map((each) => JSON.stringify(String(each))).join(',')}}`
    : String(value ?? '');

/** A connection reads its caller's values once, as a client signs in once. */
function scriptOf(script: Script): string {
  const { statements, sql = {} } = script;
  const sample = script.values({ user: '', caller: '', id: '', limit: 0, offset: 0 }) as Record<
    string,
    unknown
  >;
  const columns = numbers(script).flatMap((i) =>
    Object.keys(sample).map((each) => `variables ->> '${each}_${i}' AS "${each}_${i}"`),
  );
  const requests = numbers(script).flatMap((i) =>
    statements.map(({ text, parameters }) => {
      const filled = text.replace(/\$(\d+)/g, (_, number: string) => {
        const parameter = parameters[Number(number) - 1];
        const variable = `:${parameter}_${i}`;
        return sql[parameter] ?? (sample[parameter] === null ? `nullif(${variable}, '')` : variable);
      });
      return `${filled.trim()};`;
    }),
  );
  return `${[
    '\\if :ready = 0',
    `SELECT ${['n', ...columns].join(', ')} FROM bench_values WHERE script = ${SCRIPTS.indexOf(script)} AND n = :client_id \\gset`,
    '\\set ready 1',
    '\\endif',
    '\\set nonce random(1, 9000000000000000000)',
    ...(isWrite(script) ? requests : ['\\startpipeline', ...requests, '\\endpipeline']),
  ].join('\n')}\n`;
}

/** Debian has it in a folder of the server's version. */
function findPgbench(): string | undefined {
  const debian = '/usr/lib/postgresql';
  let versions: string[] = [];
  try {
    versions = readdirSync(debian);
  } catch {
    // another system
  }
  return ['pgbench', ...versions.map((each) => path.join(debian, each, 'bin', 'pgbench'))].find((each) => {
    try {
      return execFileSync(each, ['--version']);
    } catch {
      return false;
    }
  });
}
