import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { Client, type ClientConfig, type QueryResultRow, escapeIdentifier } from 'pg';
import { type DataSource } from 'typeorm';
import { Migrator, migrationSource as sourceFor } from '#platform/migrating/migrator';
import type { TimeLimits } from '#platform/postgres/budget';
import { withClient } from '#dev/postgres';
import { type Role, makeRoles, urlAs as urlFor } from '#dev/settings';

const MIGRATIONS = join(__dirname, '../../migrations');
/** Of every role. */
const PASSWORD = 'test';
/** Key of the lock under which the template is created; any number that nothing else on the server uses. */
const TEMPLATE_LOCK = 4361;

/** For tests that are about no limit: a machine has to be very slow to reach one. */
export const PATIENT: TimeLimits = {
  amongOthersMs: 30_000,
  pollMs: 30_000,
  lockMs: 30_000,
  standbyMs: 30_000,
  sendMs: 60_000,
  resendMs: 60_000,
  deadlineMs: 90_000,
  runningMs: 95_000,
  answerMs: 100_000,
};

/** For a while in which a test makes something reach its limit. */
export const QUICK: TimeLimits = {
  ...PATIENT,
  pollMs: 100,
  lockMs: 100,
  standbyMs: 150,
  sendMs: 200,
  resendMs: 400,
  deadlineMs: 500,
  runningMs: 600,
  answerMs: 700,
};

export interface TestDatabase {
  url: string;
  drop(): Promise<void>;
}

const serverUrl = (): string => {
  const url = process.env.TEST_DATABASE_URL;
  if (!url) throw new Error('TEST_DATABASE_URL is not set: jest starts the server in its globalSetup');
  return url;
};

/** Of another database of the server. */
function urlOf(database: string): string {
  const url = new URL(serverUrl());
  url.pathname = `/${database}`;
  return url.href;
}

/** The name of the database of `url`, for a statement. */
const nameOf = (url: string): string => escapeIdentifier(new URL(url).pathname.slice(1));

export const query = <Row extends QueryResultRow>(url: string, text: string, values?: unknown[]) =>
  withClient(url, async (client) => (await client.query<Row>(text, values)).rows);

/** All test files of a process have the same global object. */
const kept = globalThis as { maintenance?: Promise<Client> };

/** The connection of this process to the server's maintenance database. It does not keep the process alive. */
function maintenance(): Promise<Client> {
  const connect = async (): Promise<Client> => {
    const client = await connectTo(urlOf('postgres'));
    // The server may stop before this process does.
    client.on('error', () => (kept.maintenance = undefined));
    (client.connection.stream as Socket).unref();
    return client;
  };
  return (kept.maintenance ??= connect());
}

/** A new, empty database. */
export const emptyDatabase = async (): Promise<TestDatabase> => addDatabase(await maintenance());

let template: Promise<string> | undefined;

/** A new database with every migration applied. */
export async function freshDatabase(): Promise<TestDatabase> {
  const client = await maintenance();
  const database = await addDatabase(client, await (template ??= migratedTemplate(client)));
  // What migrations/privileges.sql says of the database itself is not copied with it.
  const name = nameOf(database.url);
  await client.query(`REVOKE CREATE, TEMPORARY ON DATABASE ${name} FROM PUBLIC;
    GRANT TEMPORARY ON DATABASE ${name} TO savings_indexer, savings_operator`);
  return database;
}

/** Copies the template's files: to log their pages instead, as is the default, takes three times the CPU. */
async function addDatabase(client: Client, source?: string): Promise<TestDatabase> {
  const url = urlOf(`test_${process.pid}_${randomBytes(6).toString('hex')}`);
  const copy = source ? ` TEMPLATE ${escapeIdentifier(source)} STRATEGY FILE_COPY` : '';
  await client.query(`CREATE DATABASE ${nameOf(url)}${copy}`);
  const drop = async (): Promise<void> => {
    await (await maintenance()).query(`DROP DATABASE IF EXISTS ${nameOf(url)} WITH (FORCE)`);
  };
  return { url, drop };
}

/**
 * Migrations run once per server, and every test copies the result. Its name contains a digest of the migrations, so
 * a long-lived server never serves an old schema.
 */
async function migratedTemplate(client: Client): Promise<string> {
  const digest = createHash('sha256');
  for (const file of readdirSync(MIGRATIONS, { recursive: true, encoding: 'utf8' }).sort())
    if (/\.(ts|sql)$/.test(file)) digest.update(readFileSync(join(MIGRATIONS, file)));
  const name = `template_${digest.digest('hex').slice(0, 16)}`;
  const exists = async (): Promise<boolean> =>
    (await client.query('SELECT FROM pg_database WHERE datname = $1', [name])).rowCount === 1;
  if (await exists()) return name;
  await client.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK]);
  try {
    if (!(await exists())) await makeTemplate(client, name);
  } finally {
    await client.query('SELECT pg_advisory_unlock($1)', [TEMPLATE_LOCK]);
  }
  return name;
}

/** It has another name until it is complete, so that a killed run leaves no unfinished template. */
async function makeTemplate(client: Client, name: string): Promise<void> {
  const url = urlOf(`${name}_${randomBytes(4).toString('hex')}`);
  await makeRoles(client, PASSWORD);
  await client.query(`CREATE DATABASE ${nameOf(url)}`);
  await client.query(`ALTER DATABASE ${nameOf(url)} OWNER TO savings`);
  await migrate(urlAs(url, 'owner'));
  await client.query(`ALTER DATABASE ${nameOf(url)} RENAME TO ${escapeIdentifier(name)}`);
}

/** Makes the accounts on a server of a test's own. */
export const giveAccounts = (url: string): Promise<void> =>
  withClient(url, (client) => makeRoles(client, PASSWORD));

/** The database of `url`, for the account of that role. The accounts are there once `freshDatabase` was called. */
export const urlAs = (url: string, role: Role): string => urlFor(url, role, PASSWORD);

/** For what runs migrations by itself. */
export const migrationSource = (url: string): Promise<DataSource> => sourceFor(url).initialize();

/** As `npm run migration:run` does it. */
export async function migrate(url: string): Promise<void> {
  const source = await migrationSource(url);
  await new Migrator(source, () => undefined).run().finally(() => source.destroy());
}

/** Every object that a migration may create, as the server describes it, with who may what. */
export const OBJECTS = `
  SELECT 'column' AS kind, table_name || '.' || column_name AS name, data_type || coalesce(column_default, '') AS what
  FROM information_schema.columns WHERE table_schema = 'public' AND table_name <> 'migrations'
  UNION ALL SELECT 'index', indexname, indexdef FROM pg_indexes
  WHERE schemaname = 'public' AND tablename <> 'migrations'
  UNION ALL SELECT 'constraint', conname, pg_get_constraintdef(oid) FROM pg_constraint
  WHERE connamespace = 'public'::regnamespace AND conrelid <> coalesce(to_regclass('migrations')::oid, 0)
  UNION ALL SELECT 'function', proname, concat_ws(' ', proconfig, prosecdef, proacl, prosrc) FROM pg_proc
  WHERE pronamespace = 'public'::regnamespace
  UNION ALL SELECT 'trigger', tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
  UNION ALL SELECT 'type', typname, '' FROM pg_type
  WHERE typnamespace = 'public'::regnamespace AND typname NOT IN ('migrations', '_migrations')
  UNION ALL SELECT 'option', relname, concat_ws(' ', reloptions, relacl) FROM pg_class
  WHERE relnamespace = 'public'::regnamespace AND relname NOT LIKE 'migrations%'
    AND (reloptions IS NOT NULL OR relacl IS NOT NULL)
  ORDER BY 1, 2, 3`;

/** A separate connection, which the caller closes. */
export async function connectTo(connectionString: string, options: ClientConfig = {}): Promise<Client> {
  const client = new Client({ connectionString, ...options });
  await client.connect();
  return client;
}
