import { Client } from 'pg';

/** Key of the session advisory lock that the leading indexer holds. */
const LOCK = 4_361_001;
/** A leader whose beat is older than this is ended by a standby. */
const STALE_BEAT_S = 10;
/** Time between looks at the leader's beat. */
const LOOK_MS = 500;

/** Opens a connection for the indexer: planner defaults, and no statement timeout, as a batch may be long. */
export async function connect(url: string): Promise<Client> {
  const client = new Client({
    connectionString: url,
    application_name: 'indexer',
    // A leader that hangs within a transaction holds locks that requests wait for.
    options: '-c jit=off -c TimeZone=UTC -c idle_in_transaction_session_timeout=10s',
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
 * is ended when its beat is stale. One that is in the middle of a long batch is not: its backend is at work.
 * @returns false when told to stop before
 */
export async function becomeLeader(client: Client, stopping: () => boolean): Promise<boolean> {
  await client.query(`SET lock_timeout = ${LOOK_MS}`);
  while (!stopping()) {
    try {
      await client.query('SELECT pg_advisory_lock($1)', [LOCK]);
      await client.query('SET lock_timeout = 0');
      return true;
    } catch (error) {
      if ((error as { code?: string }).code !== LOCK_NOT_AVAILABLE) throw error;
    }
    await client.query(
      `SELECT pg_terminate_backend(a.pid) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
       WHERE l.locktype = 'advisory' AND l.objid = $1 AND l.granted AND a.datname = current_database()
         AND l.database = a.datid AND a.state <> 'active'
         AND greatest(a.state_change, (SELECT beat_at FROM chain_cursor)) < now() - make_interval(secs => $2)`,
      [LOCK, STALE_BEAT_S],
    );
  }
  return false;
}

const LOCK_NOT_AVAILABLE = '55P03';
