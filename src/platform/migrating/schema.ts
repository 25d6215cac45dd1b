import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { type ClientBase, DatabaseError } from 'pg';
import type { MigrationInterface } from 'typeorm';
import { buildOf } from '#platform/config/build-info';
import { withClient } from '#platform/postgres/connection-settings';
import { statement } from '#platform/postgres/statement';

interface SchemaRow {
  /** Names of the migrations that have run. */
  applied: string[];
  /** Of those that a version has to know, to work on this schema. */
  required: string[];
  /** The version whose functions are installed; null where none are. */
  functions: string | null;
}

export const SCHEMA = statement<object, SchemaRow>(
  'schema_state',
  {},
  `SELECT ARRAY(SELECT name::text FROM migrations ORDER BY id) AS applied,
     ARRAY(SELECT name FROM required_migrations ORDER BY name) AS required,
     substring(obj_description('migrations'::regclass, 'pg_class') FROM 'of ([^:]+):') AS functions`,
);

const MIGRATIONS = path.join(__dirname, '../../../migrations');
const UNDEFINED_TABLE = '42P01';
const load = createRequire(__filename);
let known: readonly string[] | undefined;

/** The names of this version's migrations, oldest first. */
export function knownMigrations(): readonly string[] {
  known ??= readdirSync(MIGRATIONS)
    .filter((file) => /^\d+-.*(?<!\.d)\.[jt]s$/.test(file))
    .sort()
    .flatMap((file) => Object.values(load(path.join(MIGRATIONS, file)) as Record<string, Migration>))
    .map((Class) => new Class().name ?? Class.name);
  return known;
}
type Migration = new () => MigrationInterface;

/** What gives the roles their rights, as one statement that may run any number of times. */
export const privileges = (): string => readFileSync(path.join(MIGRATIONS, 'privileges.sql'), 'utf8');

/** Functions and triggers as this version has them, file by file. */
export const functions = (): string[] =>
  readdirSync(path.join(MIGRATIONS, 'functions'))
    .sort()
    .map((file) => readFileSync(path.join(MIGRATIONS, 'functions', file), 'utf8'));

/** The comment of the table `migrations`: which version has installed its functions, with a digest of their text. */
export const installed = (version: string, digest: string): string =>
  `functions and privileges of ${version}: ${digest}`;

export const VERSION = buildOf(undefined).version;

/** Whether `version` comes after `other`. */
export const isLater = (version: string, other: string): boolean =>
  version.localeCompare(other, 'en', { numeric: true }) > 0;

/**
 * What keeps a version from working on a schema: it lacks migrations or the version's functions, or a migration that the
 * version has to know has run without it. Other migrations and functions of later versions do no harm.
 * @param names of the version's migrations
 * @param row undefined: no migration has run
 */
export function schemaProblem(
  names: readonly string[],
  row?: SchemaRow,
  version = VERSION,
): string | undefined {
  const applied = new Set(row?.applied);
  const pending = names.filter((name) => !applied.has(name));
  if (pending.length > 0)
    return `schema is behind: run the migrations (${pending.length} of ${names.length} have not run, first ${pending[0]})`;
  if (!row?.functions || isLater(version, row.functions))
    return `schema is behind: run the migrations (it has functions of ${row?.functions ?? 'no version'}, not of ${version})`;
  const unknown = row.required.find((name) => !names.includes(name));
  return unknown && `schema is ahead: this version is too old for it (${unknown} has run)`;
}

/** The same of this version, and the database that `read` reads. @throws what it throws, unless no migration has run */
export async function problemBy(read: () => Promise<SchemaRow | undefined>): Promise<string | undefined> {
  try {
    return schemaProblem(knownMigrations(), await read());
  } catch (error) {
    if (error instanceof DatabaseError && error.code === UNDEFINED_TABLE)
      return schemaProblem(knownMigrations());
    throw error;
  }
}

export const problemOf = (client: ClientBase): Promise<string | undefined> =>
  problemBy(async () => (await client.query<SchemaRow>(SCHEMA.text)).rows[0]);

/** The same, on a connection of its own. @throws what `pg` throws, which says the cause */
export const schemaProblemAt = (url: string): Promise<string | undefined> =>
  withClient({ connectionString: url }, problemOf);

/** @throws Error where this version cannot work on the schema */
export async function requireSchema(client: ClientBase): Promise<void> {
  const problem = await problemOf(client);
  if (problem) throw new Error(problem);
}
