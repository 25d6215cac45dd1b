import { hostname, userInfo } from 'node:os';
import type { Client } from 'pg';
import { redactText } from '#platform/log/redact';
import { withClient } from '#platform/postgres/connection-settings';

/** What an operator does. */
export interface Operation {
  /** The command, such as `rewind`. */
  command: string;
  arguments: string;
  /** Who does it: the setting OPERATOR; without it the account of the operating system, and the machine's name. */
  by?: string;
}

export interface OperatorRecord {
  id: number;
  command: string;
  arguments: string;
  person: string;
  role: string;
  /** ISO 8601. */
  begunAt: string;
  /** Null: it is under way, or its process was killed. */
  endedAt: string | null;
  outcome: 'done' | 'failed' | null;
  result: unknown;
}

/**
 * Runs a command of an operator, and keeps in the database that it began and how it ended. Without a record it does not
 * begin, but for the first migrations, before which there is no table.
 * @param resultOf what is kept of the result, such as counts
 */
export async function recorded<Result>(
  databaseUrl: string,
  operation: Operation,
  work: () => Promise<Result>,
  resultOf: (result: Result) => object,
): Promise<Result> {
  const id = await begin(databaseUrl, operation);
  const close = async (outcome: 'done' | 'failed', result: object): Promise<void> => {
    if (id === undefined) return;
    await end(databaseUrl, id, outcome, result).catch((error: Error) =>
      process.stderr.write(`${outcome}, but its record has no end: ${redactText(error.message)}\n`),
    );
  };
  try {
    const result = await work();
    await close('done', resultOf(result));
    return result;
  } catch (error) {
    await close('failed', { error: redactText((error as Error).message) });
    throw error;
  }
}

/** The newest records first. */
export function readRecords(databaseUrl: string, limit: number): Promise<OperatorRecord[]> {
  return connected(databaseUrl, async (client) => {
    const { rows } = await client.query<OperatorRecord>(
      `SELECT id::int, command, arguments, person, role, iso(begun_at) AS "begunAt", iso(ended_at) AS "endedAt",
         outcome, result FROM operator_records ORDER BY id DESC LIMIT $1`,
      [limit],
    );
    return rows;
  });
}

/** A line of headings, then one for each record, with fields separated by tabs. */
export const recordsTable = (records: OperatorRecord[]): string =>
  [
    ['begunAt', 'endedAt', 'outcome', 'person', 'role', 'command', 'arguments', 'result'],
    ...records.map(({ begunAt, endedAt, outcome, person, role, command, arguments: given, result }) => [
      begunAt,
      endedAt ?? '-',
      outcome ?? 'not ended',
      person,
      role,
      command,
      given || '-',
      result === null ? '-' : JSON.stringify(result),
    ]),
  ]
    .map((fields) => `${fields.join('\t')}\n`)
    .join('');

/** Containers may run under a number without a name. */
function accountName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? 'unknown');
  }
}

/** @returns undefined where there is no table yet */
const begin = (url: string, { command, arguments: given, by }: Operation): Promise<string | undefined> =>
  connected(url, async (client) => {
    const table = await client.query(`SELECT FROM pg_class WHERE oid = to_regclass('operator_records')`);
    if (table.rowCount === 0) return undefined;
    const { rows } = await client.query<{ id: string }>(
      'INSERT INTO operator_records (command, arguments, person) VALUES ($1, $2, $3) RETURNING id',
      [command, given, by ?? `${accountName()}@${hostname()}`],
    );
    return rows[0].id;
  });

const end = (url: string, id: string, outcome: string, result: object): Promise<unknown> =>
  connected(url, (client) =>
    client.query('UPDATE operator_records SET outcome = $2, result = $3 WHERE id = $1', [
      id,
      outcome,
      result,
    ]),
  );

/** A connection each time: between the two ends of a command hours may pass. */
const connected = <Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> =>
  withClient({ connectionString: url, application_name: 'operator', statement_timeout: 5000 }, work);
