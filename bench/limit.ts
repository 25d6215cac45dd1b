import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { QueryResultRow } from 'pg';
import { pipelinedPoolOptions } from '#platform/database/data-source';
import { LIMITS } from '#platform/postgres/budget';
import type { TypedStatement } from '#platform/postgres/statement';
import * as auth from '#features/access/sign-in.sql';
import * as analytics from '#features/analytics/analytics.sql';
import * as lottery from '#features/lottery/lottery.sql';
import * as pools from '#features/pools/pools.sql';
import { LIST_POSITIONS } from '#features/positions/positions.sql';
import * as transactions from '#features/transactions/transactions.sql';
import * as users from '#features/users/users.sql';
import { type Caller, using } from './database';
import { SIGN_IN } from './sign-in';

/** What pgbench runs for one request. */
interface Script {
  statements: TypedStatement<any, QueryResultRow>[];
  /** SQL or variables for parameters that have no variable of their own name. */
  values?: Record<string, string>;
  writes?: boolean;
}

const ANY_TYPE = { type: `nullif(:any, 'any')` };

const SCRIPTS: Record<string, Script> = {
  'GET /pools': { statements: [pools.LIST_POOLS], values: ANY_TYPE },
  'GET /pools/:id': { statements: [pools.POOL_DETAIL] },
  'GET /pools/:id/yield': { statements: [pools.POOL_YIELD] },
  'GET /transactions': { statements: [transactions.LIST_TRANSACTIONS], values: ANY_TYPE },
  'GET /transactions/:hash': { statements: [transactions.TRANSACTION_BY_HASH] },
  'GET /analytics/user': { statements: [analytics.USER_ANALYTICS] },
  'GET /analytics/pools': { statements: [analytics.POOL_ANALYTICS] },
  'GET /users/me/positions': { statements: [LIST_POSITIONS] },
  'GET /auth/me': { statements: [users.ME] },
  'GET /lottery/current': { statements: [lottery.CURRENT_DRAW] },
  'GET /lottery/winners': { statements: [lottery.LIST_WINNERS], values: { limit: ':ten' } },
  'POST /pools': {
    statements: [pools.CREATE_POOLS],
    values: {
      pools: 'ARRAY[uuidv7()]',
      types: 'ARRAY[:cooperative]',
      owners: 'ARRAY[:owner]',
      contracts: 'ARRAY[:contract]',
      autoCompound: 'ARRAY[true]',
      members: 'ARRAY[:members]',
      createdAt: 'ARRAY[now()]',
      ownerAddresses: 'ARRAY[:address]',
      deposits: 'ARRAY[uuidv7()]',
      amounts: 'ARRAY[25000000000000000000]',
    },
    writes: true,
  },
  [SIGN_IN]: {
    statements: [auth.ISSUE_NONCES, auth.FIND_NONCE, auth.SIGN_IN],
    values: { nonces: 'ARRAY[:nonce]', addresses: 'ARRAY[:address]', newIds: 'ARRAY[uuidv7()]' },
    writes: true,
  },
};

/** Variables that are the same for every caller. */
const CONSTANTS = {
  ready: '0',
  any: 'any',
  offset: '0',
  limit: '20',
  ten: '10',
  cooperative: 'cooperative',
  contract: `0x${'c'.repeat(40)}`,
};

/** Statements of a run of a script: reads are sent together, each for another pool or transaction of the caller. */
const TOGETHER = 8;
const CLIENTS = { reads: 4, writes: 32 };

/** What PostgreSQL and pgbench, which do nothing else, reach with the statements of an endpoint. */
export class Limit {
  private constructor(
    private readonly url: string,
    private readonly pgbench: string,
    private readonly folder: string,
    private readonly firstWriter: number,
  ) {}

  /** Undefined where there is no pgbench. */
  static async prepare(url: string, readers: Caller[], writers: Caller[]): Promise<Limit | undefined> {
    const pgbench = findPgbench();
    if (!pgbench) return undefined;
    const columns = Array.from(
      { length: TOGETHER },
      (_, i) => `c -> 'pools' ->> ${i} AS pool${i}, c -> 'hashes' ->> ${i} AS hash${i}`,
    );
    await using(url, (client) =>
      client.query(
        `CREATE TABLE bench_callers AS
         SELECT n - 1 AS n, c ->> 'address' AS address, c ->> 'address' AS reader,
           c ->> 'id' AS "user", c ->> 'id' AS owner,
           ARRAY['0xaaaaaaaa' || substr(c ->> 'address', 11), '0xbbbbbbbb' || substr(c ->> 'address', 11)] AS members, ${columns.join(', ')}
         FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS _ (c, n)`,
        [JSON.stringify([...readers, ...writers])],
      ),
    );
    return new Limit(url, pgbench, mkdtempSync(path.join(tmpdir(), 'bench-limit-')), readers.length);
  }

  /** Requests per second that the statements of an endpoint would allow. */
  async rate(endpoint: string, seconds: number): Promise<number> {
    const script = SCRIPTS[endpoint];
    const file = path.join(this.folder, 'script.sql');
    writeFileSync(file, textOf(script));
    const clients = script.writes ? CLIENTS.writes : CLIENTS.reads;
    const options = ['-n', '-M', 'prepared', '-c', clients, '-j', 2, '-T', Math.ceil(seconds), '-f', file];
    const constants = Object.entries({ ...CONSTANTS, first: script.writes ? this.firstWriter : 0 }).flatMap(
      ([name, value]) => ['-D', `${name}=${value}`],
    );
    const limits = { ...LIMITS, runningMs: 10_000 };
    const settings = { DATABASE_URL: this.url, DATABASE_POOL_SIZE: 16, limits };
    const { stdout } = await promisify(execFile)(
      this.pgbench,
      [...options.map(String), ...constants, this.url],
      {
        env: { ...process.env, PGOPTIONS: pipelinedPoolOptions(settings).options },
      },
    );
    const tps = Number(/^tps = ([\d.]+)/m.exec(stdout)?.[1]);
    return script.writes ? tps : tps * TOGETHER;
  }

  end(): void {
    rmSync(this.folder, { recursive: true });
  }
}

/** The caller of a connection is read once, as a client signs in once. */
function textOf({ statements, values = {}, writes }: Script): string {
  const lines = [
    '\\if :ready = 0',
    'SELECT * FROM bench_callers WHERE n = :client_id::int + :first::int \\gset',
    '\\set ready 1',
  ];
  lines.push('\\endif', '\\set nonce random(1, 9000000000000000000)');
  const repeated = writes ? [0] : Array.from({ length: TOGETHER }, (_, i) => i);
  const requests = repeated.flatMap((i) =>
    statements.map(({ text, parameters }) => {
      const numbered = text.replace(/\$(\d+)/g, (_, n: string) => {
        const name = parameters[Number(n) - 1];
        return values[name] ?? (['pool', 'hash'].includes(name) ? `:${name}${i}` : `:${name}`);
      });
      return `${numbered.trim()};`;
    }),
  );
  if (!writes) requests.unshift('\\startpipeline');
  if (!writes) requests.push('\\endpipeline');
  return `${[...lines, ...requests].join('\n')}\n`;
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
