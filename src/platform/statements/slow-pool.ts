import type { Pool } from 'pg';
import type { TimeLimits } from '#platform/postgres/budget';
import { DatabaseUnavailable } from '#platform/postgres/unavailable';
import { BatchedPool } from './batched-pool';
import { Shares } from './shares';
import { type SlowReads, partyOf } from './slow-reads';
import type { StatementConnection } from './statement-connection';
import type { Work } from './work-queue';

/** Reads of a party that may wait. More would be answered too late. */
const MOST_OF_PARTY = 24;
/** Parties whose last turn is remembered. */
const MOST_REMEMBERED = 10_000;

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
