import type { PoolClient } from 'pg';
import type { DatabaseClient } from '#platform/postgres/database-pool';
import type { Work } from './work-queue';

export type StatementClient = PoolClient & DatabaseClient;

/** A connection of the pool while it has statements to run. */
export interface StatementConnection {
  /** Undefined while the pool is connecting. */
  client?: StatementClient;
  /** Statements without an answer, in the order they were sent. */
  sent: Set<Work>;
  /** It gets no more statements and closes after its last answer. */
  retired: boolean;
  release: (destroy: boolean) => void;
  /** Waits for the answer to the oldest statement. */
  watchdog?: { stop: () => void; oldest: Work };
}
