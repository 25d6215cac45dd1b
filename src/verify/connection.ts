import { Client } from 'pg';

/**
 * Opens a connection that writes nothing but temporary tables, unless it is to mend. Every statement sees one
 * snapshot and is short, so running traffic neither waits nor is seen half.
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
  // Without a listener the loss of an idle connection would end the process; the next query tells of it.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** Lock of the one who mends: what two of them add to a sum would be added twice. */
const REPAIR_LOCK = 4_361_002;

/** @throws if another process is mending */
export async function lockRepair(client: Client): Promise<void> {
  const { rows } = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [
    REPAIR_LOCK,
  ]);
  if (!rows[0].locked) throw new Error('another process is mending this database');
}

const CONFLICTS = /^(40001|40P01|55P03)$/;
const TRIES = 5;

/**
 * Runs in one transaction that may change what is derived; again after a conflict with running traffic.
 * `savings.repair` is what the database's triggers ask for.
 */
export async function mending(client: Client, work: () => Promise<unknown>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await client.query(`BEGIN; SET LOCAL savings.repair = 'on'`);
      await work();
      await client.query('COMMIT');
      return;
    } catch (error) {
      await client.query('ROLLBACK').catch(() => undefined);
      if (tries === TRIES || !CONFLICTS.test((error as { code?: string }).code ?? '')) throw error;
    }
  }
}
