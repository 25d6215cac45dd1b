import type { Pool } from 'pg';
import type { TimeLimits } from '#platform/postgres/budget';
import { isParsed } from '#platform/postgres/pg-internals';
import type { Statement } from '#platform/postgres/statement';
import { StatementBatch } from '#platform/postgres/statement-batch';
import { CANCELLED, DatabaseUnavailable, StatementSkipped } from '#platform/postgres/unavailable';
import { MOST_REMEMBERED, Shares, type SlowReads, partyOf } from './slow-reads';
import { type PoolSize, type StatementConnection, StatementPool, codeOf } from './statement-pool';
import type { Work } from './work-queue';

/** Statements that go together although another connection is free. */
const BATCH = 4;

/**
 * Limits each of the statements behind it in its transaction, in ms. It is sent with them, because a pooler may hand
 * the next transaction to another session. Returns no row.
 */
const LIMIT = {
  name: 'read_limit',
  text: `SELECT WHERE set_config('statement_timeout', $1, true) = ''`,
};

/** What becomes of reads that take too long among others. */
export interface Aside {
  slow: SlowReads;
  /** The `statement_timeout` of the sessions, if it is known. Another one is sent with a batch. */
  sessionMs?: number;
  /** @param error with which the server has cancelled it, if it was sent */
  accept: (work: Work, error?: Error) => void;
}

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
 *
 * With `aside`, no read waits long for others:
 * - The server cancels a read that takes too long in a batch, and skips those behind it, which are sent again at once.
 *   The slow one, and those like it, leave the pool for a while.
 * - No party has all connections. So it leaves one to the others also before its reads are known to be slow.
 */
export class BatchedPool extends StatementPool {
  private turn?: NodeJS.Immediate;

  constructor(
    pool: Pool,
    size: PoolSize,
    limits: TimeLimits,
    private readonly aside?: Aside,
    protected readonly shares = new Shares(Math.max(size.width - 1, 1)),
  ) {
    super(pool, size, limits);
  }

  override accept(work: Work): void {
    if (this.aside?.slow.has(work)) this.aside.accept(work);
    else super.accept(work);
  }

  /** What has come in one turn of the event loop goes together. */
  protected attend(): void {
    this.turn ??= setImmediate(() => {
      this.turn = undefined;
      const wanted = Math.ceil(this.ready / BATCH) - this.opening;
      for (let i = 0; i < wanted && this.connections.length < this.size.width; i++) this.open();
    });
  }

  protected fill(connection: StatementConnection, most: number): void {
    if (connection.sent.size > 0) return;
    this.shares.release(connection);
    const groups = this.takeTurn(connection, Math.min(Math.max(most, BATCH), this.size.depth));
    if (groups.length === 0) return this.end(connection);
    this.sendBatch(connection, groups, this.limitMs(connection, groups));
  }

  protected override end(connection: StatementConnection): void {
    this.shares.release(connection);
    super.end(connection);
  }

  /** Removes what is sent next from the queue: groups of calls, of which each shares an answer. */
  protected takeTurn(connection: StatementConnection, most: number): Work[][] {
    const { aside, queue, shares } = this;
    if (!aside) return alike(queue.takeFirst(most));
    const works: Work[] = [];
    for (let taken: Work[] | undefined; taken?.length !== 0 && works.length < most;) {
      taken = queue.takeFirst(most - works.length, (work) => shares.take(connection, partyOf(work)));
      for (const work of taken)
        // Known as slow since it came.
        if (aside.slow.has(work)) aside.accept(work);
        else works.push(work);
    }
    return alike(works);
  }

  /** How long the server may take for each of them, unless the session's limit fits. */
  protected limitMs({ client }: StatementConnection, groups: Work[][]): number | undefined {
    const { aside } = this;
    if (!aside) return undefined;
    const isPrepared = groups.every(([{ statement }]) => isParsed(client!, statement.name));
    const ms = aside.slow.limitMs(isPrepared);
    return ms === aside.sessionMs ? undefined : ms;
  }

  /** The last of a batch has succeeded. @param begun as a `performance.now()` */
  protected succeeded(_work: Work, _begun: number): void {
    this.aside?.slow.completed();
  }

  private sendBatch(connection: StatementConnection, groups: Work[][], limitMs?: number): void {
    const client = connection.client!;
    const begun = performance.now();
    for (const group of groups) for (const work of group) connection.sent.add(work);
    this.watch(connection, groups[0][0]);
    client.query(
      new StatementBatch(
        client,
        groups.map(([work]) => work),
        (index, error, rows) => {
          const failure = error && client.describe(error, { writes: false, completed: false });
          const [work] = groups[index];
          const isCut = !(failure instanceof StatementSkipped) && codeOf(failure) === CANCELLED;
          const aside = isCut ? this.aside : undefined;
          // Before the connection gets the next batch.
          aside?.slow.note(work);
          if (!failure && index === groups.length - 1) this.succeeded(work, begun);
          for (const each of groups[index]) this.settle(connection, each, failure, rows, aside?.accept);
        },
        limitMs === undefined ? undefined : { statement: LIMIT, values: [`${limitMs}`] },
      ),
    );
  }

  /** Statements that a connection would take. */
  private get ready(): number {
    const { queue, shares } = this;
    if (!this.aside || !shares.isAnyUsedUp) return queue.length;
    let ready = 0;
    for (const work of queue) if (shares.isFree(partyOf(work))) ready++;
    return ready;
  }
}

/** Reads of a party that may wait. More would be answered too late. */
const MOST_OF_PARTY = 24;

/** Whether both read the same. Only plain values are compared. */
const isAlike = (a: Work, b: Work): boolean =>
  a.statement === b.statement && a.values.every((value, i) => value === b.values[i]);

/**
 * For reads that are known to be slow: one on each connection, and one of each party at a time. It is the turn of the
 * party that has waited longest since its last one. Calls that read the same share an answer.
 */
export class SlowPool extends BatchedPool {
  /** Parties by their last turn, the latest last. */
  private readonly turns = new Map<unknown, number>();
  private lastTurn = 0;

  constructor(
    pool: Pool,
    width: number,
    private readonly slow: SlowReads,
    limits: TimeLimits,
  ) {
    super(pool, { width, depth: 1 }, limits, undefined, new Shares(1));
  }

  override accept(work: Work): void {
    if (this.hasRoom(work)) return super.accept(work);
    this.slow.count('refused');
    work.callback(new DatabaseUnavailable('too many slow reads of one party are waiting'));
  }

  protected override attend(): void {
    const ready = new Set<unknown>();
    for (const work of this.queue) if (this.shares.isFree(partyOf(work))) ready.add(partyOf(work));
    for (let i = this.opening; i < ready.size && this.connections.length < this.size.width; i++) this.open();
  }

  protected override takeTurn(connection: StatementConnection): Work[][] {
    const next = this.next();
    if (!next) return [];
    const party = partyOf(next);
    this.shares.take(connection, party);
    this.turns.delete(party);
    this.turns.set(party, ++this.lastTurn);
    if (this.turns.size > MOST_REMEMBERED) this.turns.delete(this.turns.keys().next().value);
    return [this.queue.takeFirst(Infinity, (work) => work === next || isAlike(work, next))];
  }

  /** However early it was sent, it has no more time than one that was sent late. */
  protected override limitMs(_connection: StatementConnection, [[{ requested }]]: Work[][]): number {
    const { deadlineMs, sendMs } = this.limits;
    const left = requested + deadlineMs - performance.now();
    return Math.max(Math.floor(Math.min(left, deadlineMs - sendMs)), 1);
  }

  protected override succeeded(work: Work, begun: number): void {
    this.slow.apart(work, performance.now() - begun);
  }

  private next(): Work | undefined {
    let next: Work | undefined;
    let earliest = Infinity;
    for (const work of this.queue) {
      const turn = this.turns.get(partyOf(work)) ?? 0;
      if (turn >= earliest || !this.shares.isFree(partyOf(work))) continue;
      next = work;
      earliest = turn;
    }
    return next;
  }

  private hasRoom(work: Work): boolean {
    let waiting = 0;
    for (const other of this.queue) {
      if (isAlike(work, other)) return true;
      if (partyOf(other) === partyOf(work)) waiting++;
    }
    return waiting < MOST_OF_PARTY;
  }
}
