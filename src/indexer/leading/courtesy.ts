import type { Client } from 'pg';
import { TARGET_EVENTS } from '#indexer/reading/range-size';

/** How the indexer catches up. */
export interface Pace {
  /** Events in a batch. */
  events: number;
  /** The rest after a batch, as a multiple of the time that it took. */
  rest: number;
}

/** By the transactions a second from which each holds. Those of an idle service are fewer. */
const PACES: [from: number, pace: Pace][] = [
  [250, { events: 500, rest: 3 }],
  [100, { events: 1500, rest: 1 }],
];
export const FULL_SPEED: Pace = { events: TARGET_EVENTS, rest: 0 };
/** Sessions report what they did once a second. */
const WINDOW_MS = 1000;
/** The longest rest. */
const MOST_REST_MS = 1000;
/** Transactions of our own for each batch. */
const OWN = 1;

export const paceFor = (perSecond: number): Pace =>
  PACES.find(([from]) => perSecond >= from)?.[1] ?? FULL_SPEED;

export const restAfter = (tookMs: number, { rest }: Pace): number => Math.min(tookMs * rest, MOST_REST_MS);

/**
 * While it catches up, the indexer gives way to others: it writes smaller batches and rests between them, as long as
 * they work in its database. It always goes on, however busy they are.
 */
export class Courtesy {
  private pace = FULL_SPEED;
  private own = 0;
  private last?: { at: number; transactions: number };

  constructor(private readonly client: Client) {}

  /** Call it after each batch. */
  async look(): Promise<Pace> {
    this.own += OWN;
    const { last } = this;
    if (last && performance.now() - last.at < WINDOW_MS) return this.pace;
    // Statistics that every role may read, unlike what other sessions do at the moment.
    const { rows } = await this.client.query<{ transactions: string }>(
      `SELECT xact_commit + xact_rollback AS transactions FROM pg_stat_database WHERE datname = current_database()`,
    );
    const at = performance.now();
    const transactions = Number(rows[0].transactions);
    if (last) {
      const others = transactions - last.transactions - this.own;
      this.pace = paceFor((others / (at - last.at)) * 1000);
    }
    this.last = { at, transactions };
    // This question is one too.
    this.own = 1;
    return this.pace;
  }
}
