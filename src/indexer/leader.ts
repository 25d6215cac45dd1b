import { Client } from 'pg';
import { setTimeout as sleep } from 'node:timers/promises';

/** Key of the session advisory lock that the leading indexer holds. */
const LOCK = 4_361_001;
/** A leader whose beat is older than this many seconds is ended by a standby. */
const STALE_BEAT = 10;
const POLL = 500;

/** Opens a connection for the indexer: planner defaults, and no statement timeout, as a batch may be long. */
export async function connect(url: string): Promise<Client> {
  const client = new Client({
    connectionString: url,
    application_name: 'indexer',
    options: '-c jit=off -c TimeZone=UTC -c idle_in_transaction_session_timeout=30000',
    connectionTimeoutMillis: 3000,
    keepAlive: true,
  });
  // Without a listener the loss of an idle connection would end the process; the next query tells of it.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/**
 * Waits until this connection holds the lock. The lock lives as long as the connection that carries the batches, so
 * a leader that died or was cut off holds it no longer; one that hangs (stopped, or its machine gone without a word)
 * is ended when its beat is stale.
 * @returns false when told to stop before
 */
export async function becomeLeader(client: Client, stopping: () => boolean): Promise<boolean> {
  while (!stopping()) {
    const { rows } = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [LOCK]);
    if (rows[0]?.locked) return true;
    await client.query(
      `SELECT pg_terminate_backend(l.pid) FROM pg_locks l
       WHERE l.locktype = 'advisory' AND l.objid = $1 AND l.granted AND l.pid <> pg_backend_pid()
         AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
         AND EXISTS (SELECT FROM chain_cursor WHERE beat_at < now() - make_interval(secs => $2))`,
      [LOCK, STALE_BEAT],
    );
    await sleep(POLL);
  }
  return false;
}
