import { Injectable } from '@nestjs/common';
import { Client } from 'pg';
import { TYPE_WITH_DRAWS } from '#values/types';
import { requireSchema } from '#platform/migrating/schema';
import { checkSettings, startOptions } from '#platform/postgres/connection-settings';
import { PostgresSettings } from '#platform/postgres/postgres.settings';
import { pause, within } from '#platform/timing/waits';
import { IndexerSettings } from '#settings/indexer.settings';
import { ContractWriter, type Ledger } from '#indexer/contracts/contract-writer';
import { EventWriter } from '#indexer/ledger/event-writer';
import { IndexerTelemetry } from '#indexer/reporting/telemetry';

/** Key of the session advisory lock that the leading indexer holds. */
const LEADER_LOCK = 4_361_001;
/** A standby ends the connection of a leader whose heartbeat is older than this. */
const STALE_BEAT_S = 10;
/** Time between two tries, and two checks of the leader's heartbeat. */
const CHECK_MS = 500;

/** The planner's defaults and no statement timeout, as a batch may take long. */
const SETTINGS = {
  jit: 'off',
  TimeZone: 'UTC',
  // A leader that hangs in a transaction holds locks that requests wait for.
  idle_in_transaction_session_timeout: '10000',
  statement_timeout: '0',
  plan_cache_mode: 'auto',
  enable_seqscan: 'on',
};

/** Opens the leader's connection. @throws Error when a pooler does not pass on its settings, or the schema does not fit */
export async function connect(url: string): Promise<Client> {
  const client = new Client({
    connectionString: url,
    application_name: 'indexer',
    options: startOptions(SETTINGS),
    connectionTimeoutMillis: 3000,
    keepAlive: true,
  });
  // Without a listener, losing an idle connection would end the process. The next query fails anyway.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await checkSettings(client, SETTINGS);
    await requireSchema(client);
    return client;
  } catch (error) {
    await client.end();
    throw error;
  }
}

/**
 * Waits until this connection holds the lock. It tries again and again, as each wait that times out would be an error in
 * PostgreSQL's log. The lock belongs to the connection that writes the batches, so a leader that died or was cut off loses
 * it. The connection of a leader that hangs (stopped, or its machine gone) is ended when its heartbeat is stale, but not in
 * the middle of a long batch: then its backend is active.
 * @returns false when told to stop before that
 */
export async function becomeLeader(client: Client, stopping: () => boolean): Promise<boolean> {
  while (!stopping()) {
    const { rows } = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [
      LEADER_LOCK,
    ]);
    if (rows[0].locked) return true;
    await client.query(
      `SELECT pg_terminate_backend(a.pid) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
       WHERE l.locktype = 'advisory' AND l.objid = $1 AND l.granted AND a.datname = current_database()
         AND l.database = a.datid AND a.state <> 'active'
         AND greatest(a.state_change, (SELECT beat_at FROM chain_cursor)) < now() - make_interval(secs => $2)`,
      [LEADER_LOCK, STALE_BEAT_S],
    );
    await pause(CHECK_MS);
  }
  return false;
}

/** A server that hangs does not answer when a connection is closed. */
const CLOSE_MS = 1000;

/** The leader's connection, and the writers on it. */
export interface Lead extends Ledger {
  client: Client;
}

/** Opens the connection that carries the lock of the leader and its batches. */
@Injectable()
export class LeadConnection {
  constructor(
    private readonly postgres: PostgresSettings,
    private readonly settings: IndexerSettings,
    private readonly telemetry: IndexerTelemetry,
  ) {}

  /** Runs with a connection of its own, and closes it. @throws whatever the database and `work` throw */
  async use<Result>(work: (lead: Lead) => Promise<Result>): Promise<Result> {
    const { CONFIRMATIONS, PENDING_DEPOSIT_TTL, POOL_CONTRACTS } = this.settings;
    const client = await connect(this.postgres.DATABASE_URL);
    try {
      const lotteries = new Set(POOL_CONTRACTS.get(TYPE_WITH_DRAWS));
      const rules = { confirmations: CONFIRMATIONS, pendingTtl: PENDING_DEPOSIT_TTL, lotteries };
      const writer = new EventWriter(client, rules);
      return await work({ client, writer, contracts: new ContractWriter(client, writer) });
    } finally {
      this.telemetry.role = 'standby';
      this.telemetry.showSetAside(new Map());
      await within(CLOSE_MS, client.end()).catch(() => undefined);
    }
  }
}
