import type { Pool, QueryResultRow } from 'pg';
import type { Counter } from 'prom-client';
import type { TimeLimits } from '#platform/postgres/budget';
import { parsedText } from '#platform/postgres/pg-internals';
import type { BoundStatement, Statement } from '#platform/postgres/statement';
import { CANCELLED, DatabaseUnavailable, StatementSkipped, codeOf } from '#platform/postgres/unavailable';
import { afterIo } from '#platform/timing/waits';
import { MAX_WAITING, READ_DEPTH, type StatementClient, StatementPool, type Work } from './statement-pool';

/** A read has so many times more if the server has to prepare some first, in a session that may know no table yet. */
const FACTOR = 5;
/** So too if slow reads of so many parties wait: then the server may be the reason, such as a cold cache. */
const MANY = 8;
/** Slow reads of a caller that may wait. More would be answered too late. */
const MOST_OF_CALLER = 24;

const OUTCOMES = ['cut', 'known', 'refused'] as const;

/**
 * Limits each of the statements behind it in its transaction, in ms. It is sent with them, because a pooler may hand
 * the next transaction to another session. Returns no row.
 */
const LIMIT = {
  name: 'read_limit',
  text: `SELECT WHERE set_config('statement_timeout', $1, true) = ''`,
};

/**
 * Whether it names its caller. Reads that do not, and ask for the same, share an answer: those that come from everybody
 * would otherwise never be fewer than run one after the other.
 */
const isCharged = ({ statement }: BoundStatement): boolean => statement.payer !== undefined;

/** Who causes a read: its caller, or what it asks for. */
const partyOf = (read: BoundStatement): string =>
  isCharged(read)
    ? `of ${String(read.values[read.statement.payer!])}`
    : `${read.statement.name} ${JSON.stringify(read.values)}`;

/**
 * Runs reads that took too long among others: few at a time, of each party one, and the parties take turns. While one
 * waits or runs, others of its statement and party come here at once. Each is answered or refused in time.
 */
export class SlowReads {
  /** Those that wait, by party in the order of their turns. */
  private readonly lines = new Map<string, Set<Work>>();
  /** Parties with a read that runs, and its statement. */
  private readonly served = new Map<string, Statement>();

  /** @param places how many connections of the pool they take at most */
  constructor(
    private readonly pool: StatementPool,
    private readonly places: number,
    private readonly counter?: Counter<'outcome'>,
  ) {
    for (const outcome of OUTCOMES) counter?.inc({ outcome }, 0);
  }

  get waiting(): number {
    return [...this.lines.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** Whether it runs here. */
  has(read: BoundStatement): boolean {
    if (this.served.size === 0) return false;
    const party = partyOf(read);
    if (this.served.get(party) === read.statement) return true;
    for (const { statement } of this.lines.get(party) ?? []) if (statement === read.statement) return true;
    return false;
  }

  /** How long a read may take among others, on a connection that may have to prepare some of them first. */
  limitMs({ connection }: StatementClient, reads: readonly BoundStatement[]): number {
    const isUsual =
      this.lines.size < MANY && reads.every(({ statement: { name } }) => parsedText(connection, name));
    return this.pool.limits.amongOthersMs * (isUsual ? 1 : FACTOR);
  }

  /** @param outcome whether the server has cancelled it among others, or it came here at once */
  accept(work: Work, outcome: 'cut' | 'known'): void {
    this.counter?.inc({ outcome });
    const party = partyOf(work);
    const line = this.lines.get(party) ?? new Set<Work>();
    if (this.waiting >= MAX_WAITING) return this.refuse(work, 'too many slow reads are waiting');
    if (isCharged(work) && line.size >= MOST_OF_CALLER)
      return this.refuse(work, 'too many slow reads of one caller are waiting');
    this.lines.set(party, line.add(work));
    afterIo(work.requested + this.pool.limits.resendMs - performance.now(), () => {
      if (line.delete(work)) this.refuse(work, 'slow reads take all their connections');
    });
    this.serve();
  }

  private refuse({ callback }: Work, reason: string): void {
    this.counter?.inc({ outcome: 'refused' });
    callback(new DatabaseUnavailable(reason));
  }

  /** Begins what has its turn. Only parties that are served are passed over, so this looks at few. */
  private serve(): void {
    for (const [party, line] of this.lines) {
      if (this.served.size === this.places) return;
      if (this.served.has(party)) continue;
      this.lines.delete(party);
      const [first] = line;
      // All were refused.
      if (!first) continue;
      const group = isCharged(first) ? new Set([first]) : line;
      if (group !== line && line.delete(first) && line.size > 0) this.lines.set(party, line);
      this.served.set(party, first.statement);
      void this.run(group).then(() => {
        this.served.delete(party);
        this.serve();
      });
    }
  }

  /** Later reads do not join these. They have the deadline of the last one; the others may be refused earlier. */
  private async run(group: Set<Work>): Promise<void> {
    const answer = (error: Error | null, rows?: QueryResultRow[]): void => {
      for (const work of group) {
        group.delete(work);
        work.callback(error, rows);
      }
    };
    const { statement, values, requested } = [...group].at(-1)!;
    await this.pool
      .run(statement, values, { writes: false, requested })
      .then((rows) => answer(null, rows), answer);
  }
}

/**
 * For statements that only read. No read waits long for others: the server cancels one that takes too long in a batch,
 * and skips those behind it, which are sent again at once. The slow one leaves the pool for `SlowReads`.
 */
export class ReadPool extends StatementPool {
  /** The `statement_timeout` of the sessions, as PostgreSQL writes it. Another limit is sent with a batch. */
  sessionLimit?: string;

  constructor(
    pool: Pool,
    limits: TimeLimits,
    private readonly slow: SlowReads,
  ) {
    super(pool, READ_DEPTH, limits);
  }

  protected override take(most: number): Work[] {
    const works: Work[] = [];
    while (works.length < most && this.queue.length > 0) {
      const work = this.queue.shift()!;
      if (this.slow.has(work)) this.slow.accept(work, 'known');
      else works.push(work);
    }
    return works;
  }

  protected override guard(client: StatementClient, works: readonly Work[]): BoundStatement | undefined {
    const ms = this.slow.limitMs(client, works);
    return `${ms}ms` === this.sessionLimit ? undefined : { statement: LIMIT, values: [`${ms}`] };
  }

  protected override retry(work: Work, error: Error, isLost: boolean): boolean {
    const isCut = codeOf(error) === CANCELLED && !(error instanceof StatementSkipped);
    if (isCut) this.slow.accept(work, 'cut');
    return isCut || super.retry(work, error, isLost);
  }
}
