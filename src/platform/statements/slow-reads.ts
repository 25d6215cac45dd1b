import type { Counter } from 'prom-client';
import type { TimeLimits } from '#platform/postgres/budget';
import type { BoundStatement } from '#platform/postgres/statement';
import type { StatementConnection } from './statement-pool';

/** A read has so many times more if the server has to prepare some first, in a session that may know no table yet. */
const UNPREPARED_FACTOR = 5;

/** A read that was slow runs apart for so long, and twice as long each time it is slow again. */
const FIRST_MS = 1000;
const MOST_DOUBLINGS = 4;
/** After this time without a slow call it counts as new. */
const FORGET_MS = 60_000;
/** Reads, and also parties, that are remembered at most, and characters of each read. */
export const MOST_REMEMBERED = 10_000;
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

/** Who causes a read: the value of the parameter that says so, otherwise the statement itself. */
export const partyOf = ({ statement, values }: BoundStatement): unknown =>
  statement.payer === undefined ? statement : values[statement.payer];

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

/** How many connections each party has in use, so that none takes all. */
export class Shares {
  private readonly inUse = new Map<unknown, number>();
  private readonly parties = new Map<StatementConnection, Set<unknown>>();

  private usedUp = 0;

  /** @param most connections of a party */
  constructor(private readonly most: number) {}

  get isAnyUsedUp(): boolean {
    return this.usedUp > 0;
  }

  /** Whether the party may have one more. */
  isFree(party: unknown): boolean {
    return (this.inUse.get(party) ?? 0) < this.most;
  }

  /** Gives the party a share of the connection, if it may have one, or has it already. */
  take(connection: StatementConnection, party: unknown): boolean {
    let parties = this.parties.get(connection);
    if (parties?.has(party)) return true;
    const count = this.inUse.get(party) ?? 0;
    if (count >= this.most) return false;
    if (!parties) this.parties.set(connection, (parties = new Set()));
    parties.add(party);
    this.inUse.set(party, count + 1);
    if (count + 1 === this.most) this.usedUp++;
    return true;
  }

  release(connection: StatementConnection): void {
    for (const party of this.parties.get(connection) ?? []) {
      const count = this.inUse.get(party)!;
      if (count === this.most) this.usedUp--;
      if (count > 1) this.inUse.set(party, count - 1);
      else this.inUse.delete(party);
    }
    this.parties.delete(connection);
  }
}
