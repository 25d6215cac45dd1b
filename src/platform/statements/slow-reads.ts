import type { Pool } from 'pg';
import type { Counter } from 'prom-client';
import type { TimeLimits } from '#platform/postgres/budget';
import { parsedText } from '#platform/postgres/pg-internals';
import type { BoundStatement } from '#platform/postgres/statement';
import { CANCELLED, DatabaseUnavailable, StatementSkipped, codeOf } from '#platform/postgres/unavailable';
import { afterIo } from '#platform/timing/waits';
import { MAX_WAITING, type PoolSize, type StatementClient, StatementPool, type Work } from './statement-pool';

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

/** The statement and its party; without one, what it asks for. */
const kindOf = (read: BoundStatement): string =>
  read.statement.payer === undefined ? keyOf(read) : `${read.statement.name} ${partyOf(read)}`;

/**
 * Runs reads that took too long among others: few at a time, of each party one, and the parties take turns. While one
 * waits or runs, others of its statement and party come here at once.
 */
export class SlowReads {
  /** Work that waits, by party in the order of their turns. */
  private readonly lines = new Map<string, (() => Promise<void>)[]>();
  /** Parties of which one runs. */
  private readonly served = new Set<string>();
  /** Reads that wait, by what they ask for. */
  private readonly groups = new Map<string, Work[]>();
  /** How many wait or run of each kind. */
  private readonly kinds = new Map<string, number>();

  /** @param places how many connections of the pool they take at most */
  constructor(
    private readonly pool: StatementPool,
    private readonly places: number,
    private readonly limits: TimeLimits,
    private readonly counter?: Counter<'outcome'>,
  ) {
    for (const outcome of OUTCOMES) counter?.inc({ outcome }, 0);
  }

  /** Reads that wait. */
  get waiting(): number {
    return [...this.groups.values()].reduce((sum, { length }) => sum + length, 0);
  }

  /** Whether it runs here. */
  has(read: BoundStatement): boolean {
    return this.kinds.size > 0 && this.kinds.has(kindOf(read));
  }

  /** How long a read may take among others. */
  limitMs(isPrepared: boolean): number {
    const isUsual = isPrepared && this.lines.size < MANY;
    return this.limits.amongOthersMs * (isUsual ? 1 : FACTOR);
  }

  /** @param outcome whether the server has cancelled it among others, or it came here at once */
  accept(work: Work, outcome: 'cut' | 'known'): void {
    this.counter?.inc({ outcome });
    if (this.waiting >= MAX_WAITING) return this.refuse(work, 'too many slow reads are waiting');
    const key = keyOf(work);
    const others = this.groups.get(key);
    if (others) return void others.push(work);
    const party = partyOf(work);
    if ((this.lines.get(party)?.length ?? 0) < MOST_OF_PARTY) return this.enqueue(work, key, party);
    this.refuse(work, 'too many slow reads of one party are waiting');
  }

  private refuse({ callback }: Work, reason: string): void {
    this.counter?.inc({ outcome: 'refused' });
    callback(new DatabaseUnavailable(reason));
  }

  private enqueue(work: Work, key: string, party: string): void {
    const kind = kindOf(work);
    const works = [work];
    const answer = (error: Error | null, rows?: Parameters<Work['callback']>[1]): void => {
      for (const { callback } of works.splice(0)) callback(error, rows);
    };
    this.groups.set(key, works);
    this.kinds.set(kind, (this.kinds.get(kind) ?? 0) + 1);
    const stop = afterIo(work.requested + this.limits.resendMs - performance.now(), () => {
      this.groups.delete(key);
      answer(new DatabaseUnavailable('slow reads take all their connections'));
    });
    const run = async (): Promise<void> => {
      stop();
      // Refused above, or sent from now on: later reads of the same do not share it.
      if (works.length > 0) {
        this.groups.delete(key);
        const { statement, values, requested } = work;
        await this.pool
          .run(statement, values, { writes: false, requested })
          .then((rows) => answer(null, rows), answer);
      }
      const left = this.kinds.get(kind)! - 1;
      if (left > 0) this.kinds.set(kind, left);
      else this.kinds.delete(kind);
    };
    const line = this.lines.get(party);
    if (line) line.push(run);
    else this.lines.set(party, [run]);
    this.serve();
  }

  /** Begins what has its turn. Only parties that are served are passed over, so this looks at few. */
  private serve(): void {
    for (const [party, line] of this.lines) {
      if (this.served.size === this.places) return;
      if (this.served.has(party)) continue;
      const run = line.shift()!;
      // The party's next one comes after those of all others.
      this.lines.delete(party);
      if (line.length > 0) this.lines.set(party, line);
      this.served.add(party);
      void run().then(() => {
        this.served.delete(party);
        this.serve();
      });
    }
  }
}

/**
 * For statements that only read. No read waits long for others: the server cancels one that takes too long in a batch,
 * and skips those behind it, which are sent again at once. The slow one leaves the pool for `SlowReads`.
 */
export class ReadPool extends StatementPool {
  /** The `statement_timeout` of the sessions, if it is known. Another limit is sent with a batch. */
  sessionMs?: number;

  constructor(
    pool: Pool,
    size: PoolSize,
    limits: TimeLimits,
    private readonly slow: SlowReads,
  ) {
    super(pool, size, limits);
  }

  override accept(work: Work): void {
    if (work.isSlow || this.slow.has(work)) this.slow.accept(work, work.isSlow ? 'cut' : 'known');
    else super.accept(work);
  }

  protected override take(most: number): Work[] {
    const works: Work[] = [];
    while (works.length < most && this.queue.length > 0) {
      const work = this.queue.shift()!;
      // Known as slow since it came.
      if (this.slow.has(work)) this.slow.accept(work, 'known');
      else works.push(work);
    }
    return works;
  }

  protected override guard(client: StatementClient, works: readonly Work[]): BoundStatement | undefined {
    const ms = this.slow.limitMs(
      works.every(({ statement: { name } }) => parsedText(client.connection, name)),
    );
    return ms === this.sessionMs ? undefined : { statement: LIMIT, values: [`${ms}`] };
  }

  protected override retry(work: Work, error: Error, isLost: boolean): boolean {
    const isCut = codeOf(error) === CANCELLED && !(error instanceof StatementSkipped);
    if (isCut) this.slow.accept(work, 'cut');
    return isCut || super.retry(work, error, isLost);
  }
}
