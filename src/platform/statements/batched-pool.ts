import { ReadBatch } from '#platform/postgres/read-batch';
import type { Statement } from '#platform/postgres/statement';
import { DatabaseUnavailable, StatementSkipped } from '#platform/postgres/unavailable';
import type { StatementConnection } from './statement-connection';
import { StatementPool } from './statement-pool';
import type { Work } from './work-queue';

/** Statements that go together although another connection is free. */
const BATCH = 4;

/**
 * Calls of a statement without parameters read the same. They may share one, because all of them were requested before
 * it is sent: the answer is new enough for each.
 */
function alike(works: readonly Work[]): Work[][] {
  const groups = new Map<Statement | Work, Work[]>();
  for (const work of works) {
    const key = work.values.length === 0 ? work.statement : work;
    const group = groups.get(key);
    if (group) group.push(work);
    else groups.set(key, [work]);
  }
  return [...groups.values()];
}

/**
 * For statements that only read. A connection has one batch in flight. What comes meanwhile is the next batch, so the
 * batches grow with the load. A batch costs the server and this process far less than its statements alone would.
 */
export class BatchedPool extends StatementPool {
  private turn?: NodeJS.Immediate;

  /** What has come in one turn of the event loop goes together. */
  protected attend(): void {
    this.turn ??= setImmediate(() => {
      this.turn = undefined;
      const wanted = Math.ceil(this.queue.length / BATCH) - this.opening;
      for (let i = 0; i < wanted && this.connections.length < this.size.width; i++) this.open();
    });
  }

  protected fill(connection: StatementConnection, most: number): void {
    const { client, sent } = connection;
    if (sent.size > 0) return;
    const works = this.queue.takeFirst(Math.min(Math.max(most, BATCH), this.size.depth));
    if (works.length === 0) return this.end(connection);
    for (const work of works) sent.add(work);
    this.watch(connection, works[0]);
    const groups = alike(works);
    client!.query(
      new ReadBatch(
        client!,
        groups.map(([work]) => work),
        (index, error, rows, skipped) => {
          const described = error && client!.describe(error, { writes: false, completed: false });
          // The error of another request is neither this one's answer nor for its log.
          const foreign = skipped && !(described instanceof DatabaseUnavailable);
          const failure = foreign ? new StatementSkipped('not begun', { cause: described }) : described;
          for (const work of groups[index]) this.settle(connection, work, failure, rows);
        },
      ),
    );
  }
}
