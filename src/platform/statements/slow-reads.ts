import type { Pool } from 'pg';
import type { Counter } from 'prom-client';
import type { TimeLimits } from '#platform/postgres/budget';
import type { BoundStatement } from '#platform/postgres/statement';
import { DatabaseUnavailable } from '#platform/postgres/unavailable';
import { BatchedPool } from './batched-pool';
import { Shares, partyOf } from './shares';
import type { StatementConnection } from './statement-connection';
import type { Work } from './work-queue';

/** A read has so many times more if the server has to prepare some first, in a session that may know no table yet. */
const UNPREPARED_FACTOR = 5;

/** A read that was slow runs apart for so long, and twice as long each time it is slow again. */
const FIRST_MS = 1000;
const MOST_DOUBLINGS = 4;
/** After this time without a slow call it counts as new. */
const FORGET_MS = 60_000;
/** Reads, and parties, that are remembered, and characters of each read. */
const MOST_REMEMBERED = 10_000;
const KEY_LENGTH = 200;

/** How many reads must be new offenders, in how many ms, for the server to be the reason. */
const MANY = 8;
const WINDOW_MS = 1000;
const MOST_FACTOR = 8;

const OUTCOMES = ['cut', 'known', 'refused'] as const;

interface Offence {
  until: number;
  doublings: number;
}

const textOf = (value: unknown): string =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? '' : String(value);

/** A call of the same statement by the same party; without one, for the same values. */
function keyOf({ statement: { name, payer }, values }: BoundStatement): string {
  const said = payer === undefined ? values.map(textOf).join() : textOf(values[payer]);
  return `${name} ${said}`.slice(0, KEY_LENGTH);
}

/** Which reads were slow lately, by statement and party, and how long a read may take among others. */
export class SlowReads {
  private readonly offences = new Map<string, Offence>();
  /** No offence lasts longer. */
  private latest = -Infinity;
  private factor = 1;
  private window = { until: -Infinity, completed: 0, offenders: 0 };

  constructor(
    private readonly limits: Pick<TimeLimits, 'amongOthersMs'>,
    private readonly counter?: Counter<'outcome'>,
  ) {
    for (const outcome of OUTCOMES) counter?.inc({ outcome }, 0);
  }

  /** Whether it runs apart from others. */
  has(read: BoundStatement, at?: number): boolean {
    if (this.offences.size === 0) return false;
    const now = at ?? performance.now();
    return now < this.latest && now < (this.offences.get(keyOf(read))?.until ?? -Infinity);
  }

  /** It took too long. */
  note(read: BoundStatement, now = performance.now()): void {
    const key = keyOf(read);
    const before = this.offences.get(key);
    const isNew = !before || now > before.until + FORGET_MS;
    // Calls that were under way together are one offence.
    const again = !isNew && now > before.until ? 1 : 0;
    const doublings = isNew ? 0 : Math.min(before.doublings + again, MOST_DOUBLINGS);
    const until = now + FIRST_MS * 2 ** doublings;
    this.offences.delete(key);
    this.offences.set(key, { until, doublings });
    this.latest = Math.max(this.latest, until);
    if (this.offences.size > MOST_REMEMBERED) this.offences.delete(this.offences.keys().next().value!);
    if (isNew) this.see('offenders', now);
  }

  /** It ran apart. */
  apart(read: BoundStatement, tookMs: number): void {
    if (tookMs > this.limitMs()) this.note(read);
  }

  /** A batch ended in time. */
  completed(now = performance.now()): void {
    this.see('completed', now);
  }

  /** How long a read may take among others. */
  limitMs(isPrepared = true): number {
    return this.factor * this.limits.amongOthersMs * (isPrepared ? 1 : UNPREPARED_FACTOR);
  }

  count(outcome: (typeof OUTCOMES)[number]): void {
    this.counter?.inc({ outcome });
  }

  /**
   * If most of what is read is too slow, and of many parties, the server is the reason: its cache is cold, or others use
   * its processor. To run all of it twice would make that worse, so everybody gets more time until it is over.
   */
  private see(what: 'completed' | 'offenders', now: number): void {
    const { window } = this;
    if (now > window.until) {
      if (window.offenders * MANY <= window.completed) this.factor = Math.max(this.factor / 2, 1);
      Object.assign(window, { until: now + WINDOW_MS, completed: 0, offenders: 0 });
    }
    window[what]++;
    if (window.offenders < MANY || window.offenders <= window.completed) return;
    this.factor = Math.min(this.factor * 2, MOST_FACTOR);
    Object.assign(window, { completed: 0, offenders: 0 });
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
