import { Client } from 'pg';

/**
 * Opens a connection that writes only temporary tables, unless it may repair. Each statement is short and sees one
 * snapshot, so requests do not wait for it, and it sees no transaction half done.
 */
export async function connect(url: string, mayWrite: boolean, statementMs: number): Promise<Client> {
  const client = new Client({
    connectionString: url,
    application_name: 'verify',
    options:
      `-c jit=off -c TimeZone=UTC -c lock_timeout=5s -c idle_in_transaction_session_timeout=10s ` +
      `-c statement_timeout=${statementMs} -c default_transaction_read_only=${mayWrite ? 'off' : 'on'}`,
    connectionTimeoutMillis: 3000,
    keepAlive: true,
  });
  // Without a listener, losing an idle connection would end the process. The next query fails anyway.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** Held during a repair or a replay: two processes at once would add to a sum twice. */
const REPAIR_LOCK = 4_361_002;

/** @throws when another process is repairing */
export async function lockRepair(client: Client): Promise<void> {
  const { rows } = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [
    REPAIR_LOCK,
  ]);
  if (!rows[0].locked) throw new Error('another process is already repairing this database');
}

const CONFLICTS = /^(40001|40P01|55P03)$/;
const MAX_TRIES = 5;

/**
 * Runs in one transaction that may change derived data: the database's triggers allow that by `savings.repair`, and
 * only to the role that owns the tables. Tries again after a conflict with a request.
 */
export async function repairing<T>(client: Client, work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      await client.query(`BEGIN; SELECT set_config('savings.repair', pg_current_xact_id()::text, true)`);
      const result = await work();
      await client.query('COMMIT');
      return result;
    } catch (error) {
      await client.query('ROLLBACK').catch(() => undefined);
      if (tries === MAX_TRIES || !CONFLICTS.test((error as { code?: string }).code ?? '')) throw error;
    }
  }
}
