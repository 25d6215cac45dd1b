import { isParsed } from '#platform/postgres/pg-internals';
import { DatabaseUnavailable } from '#platform/postgres/unavailable';
import { GuardedQuery, ServerClock } from './deadline';
import type { StatementClient, StatementConnection } from './statement-connection';
import { StatementPool } from './statement-pool';
import type { Work } from './work-queue';

/** What a connection needs to know for sending statements. */
interface Pipeline {
  clock: ServerClock;
  /** Statements being prepared on this connection. Others of the same name would fail with them. */
  preparing: Set<string>;
}

/**
 * For statements that write. It sends them without waiting for earlier answers (PostgreSQL's pipelining), each as a
 * transaction of its own, and guarded: they end on the server by their deadline, because a write answered with 503 must
 * not happen later.
 */
export class PipelinedPool extends StatementPool {
  private readonly pipelines = new WeakMap<StatementClient, Pipeline>();

  /** On the least busy connection, so that a slow statement delays few others. */
  protected override sendAtOnce(work: Work): boolean {
    if (this.connections.length < this.size.width) return false;
    let best: StatementConnection | undefined;
    for (const each of this.connections)
      if (this.takes(each, work) && !(best && best.sent.size <= each.sent.size)) best = each;
    if (best) this.send(best, work);
    return best !== undefined;
  }

  protected attend(): void {
    if (this.connections.length < this.size.width) this.open();
  }

  protected override prepare(client: StatementClient, ready: (error: Error | null) => void): void {
    if (this.pipelines.has(client)) return ready(null);
    ServerClock.read(client, this.limits, (cause, clock) => {
      this.pipelines.set(client, { clock, preparing: new Set() });
      ready(cause && new DatabaseUnavailable('no answer on a new connection', { cause }));
    });
  }

  protected fill(connection: StatementConnection, most: number): void {
    for (let i = 0; i < most; i++) {
      const work = this.queue.take((each) => this.takes(connection, each));
      if (!work) break;
      this.send(connection, work);
    }
    if (connection.sent.size === 0) this.end(connection);
  }

  private takes({ client, retired, sent }: StatementConnection, { statement }: Work): boolean {
    if (!client || client.lost || retired || sent.size >= this.size.depth) return false;
    return !this.pipelines.get(client)!.preparing.has(statement.name);
  }

  private send(connection: StatementConnection, work: Work): void {
    const { sent } = connection;
    const client = connection.client!;
    const { clock, preparing } = this.pipelines.get(client)!;
    const { statement, writes, requested } = work;
    const { name } = statement;
    const first = !isParsed(client, name);
    if (first) preparing.add(name);
    sent.add(work);
    this.watch(connection, work);
    const answered: Work['callback'] = (error, rows) => {
      if (first) preparing.delete(name);
      const failure = error && client.describe(error, { writes, completed: query.hasCompleted });
      this.settle(connection, work, failure, rows);
    };
    const deadline = requested + this.limits.deadlineMs;
    const query = new GuardedQuery(work, clock, deadline, answered);
    client.query(query);
  }
}
