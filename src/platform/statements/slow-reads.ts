import type { Pool, QueryResultRow } from 'pg';
import type { Counter } from 'prom-client';
import type { TimeLimits } from '#platform/postgres/budget';
import { parsedText } from '#platform/postgres/pg-internals';
import type { BoundStatement } from '#platform/postgres/statement';
import { CANCELLED, DatabaseUnavailable, StatementSkipped, codeOf } from '#platform/postgres/unavailable';
import { afterIo } from '#platform/timing/waits';
import { MAX_WAITING, READ_DEPTH, type StatementClient, StatementPool, type Work } from './statement-pool';

/** A read has so many times more if the server has to prepare some first, in a session that may know no table yet. */
const FACTOR = 5;
/** So too if slow reads of so many parties wait: then the server may be the reason, such as a cold cache. */
const MANY = 8;
/** Slow reads of a party that may wait. More would be answered too late. */
const MOST_OF_PARTY = 24;

const OUTCOMES = ['cut', 'known', 'refused'] as const;

/**
 * Limits each of the statements behind it in its transaction, in ms. It is sent with them, because a pooler may hand
 * the next transaction to another session. Returns no row.
 */
const LIMIT = {
  name: 'read_limit',
  text: `SELECT WHERE set_config('statement_timeout', $1, true) = ''`,
};

/** What a read asks for. Reads that ask for the same share an answer. */
const keyOf = ({ statement, values }: BoundStatement): string =>
  `${statement.name} ${JSON.stringify(values)}`;

/** Who causes a read: the value of the parameter that says so, otherwise the statement itself. */
const partyOf = ({ statement, values }: BoundStatement): string =>
  statement.payer === undefined ? statement.name : `of ${String(values[statement.payer])}`;

/** Reads of the same that wait or run, and share an answer. */
type Group = Set<Work>;

/**
 * Runs reads that took too long among others: few at a time, of each party one, and the parties take turns. While one
 * waits or runs, others of its statement and party come here at once. Each is answered or refused in time.
 */
export class SlowReads {
  /** Those that wait, by party in the order of their turns, and by what they ask for. */
  private readonly lines = new Map<string, Map<string, Group>>();
  /** Parties with a read that runs, and what that asks for. */
  private readonly served = new Map<string, string>();

  /** @param places how many connections of the pool they take at most */
  constructor(
    private readonly pool: StatementPool,
    private readonly places: number,
    private readonly counter?: Counter<'outcome'>,
  ) {
    for (const outcome of OUTCOMES) counter?.inc({ outcome }, 0);
  }

  get waiting(): number {
    const groups = [...this.lines.values()].flatMap((line) => [...line.values()]);
    return groups.reduce((sum, { size }) => sum + size, 0);
  }

  /** Whether it runs here. */
  has(read: BoundStatement): boolean {
    if (this.served.size === 0) return false;
    const party = partyOf(read);
    // Of a party that the statement names, all calls are of one kind.
    const kind = read.statement.payer === undefined ? keyOf(read) : `${read.statement.name} `;
    const keys = [this.served.get(party), ...(this.lines.get(party)?.keys() ?? [])];
    return keys.some((key) => key?.startsWith(kind));
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
    const [party, key] = [partyOf(work), keyOf(work)];
    const line = this.lines.get(party) ?? new Map<string, Group>();
    const group: Group = line.get(key) ?? new Set<Work>();
    if (this.waiting >= MAX_WAITING) return this.refuse(work, 'too many slow reads are waiting');
    if (group.size === 0 && line.size >= MOST_OF_PARTY)
      return this.refuse(work, 'too many slow reads of one party are waiting');
    this.lines.set(party, line.set(key, group));
    group.add(work);
    afterIo(work.requested + this.pool.limits.resendMs - performance.now(), () => {
      if (group.delete(work)) this.refuse(work, 'slow reads take all their connections');
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
      const [[key, group]] = line;
      line.delete(key);
      // The party's next one comes after those of all others.
      this.lines.delete(party);
      if (line.size > 0) this.lines.set(party, line);
      this.served.set(party, key);
      void this.run(group).then(() => {
        this.served.delete(party);
        this.serve();
      });
    }
  }

  /** Later reads of the same do not join it. It has the deadline of its last read; the others may be refused earlier. */
  private async run(group: Group): Promise<void> {
    const last = [...group].at(-1);
    // All were refused.
    if (!last) return;
    const answer = (error: Error | null, rows?: QueryResultRow[]): void => {
      for (const work of group) {
        group.delete(work);
        work.callback(error, rows);
      }
    };
    const { statement, values, requested } = last;
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
