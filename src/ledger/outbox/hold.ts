import type { Database } from '#platform/database/database';
import { Loop } from '#platform/timing/loop';
import type { LedgerEvent, OutboxCursor } from './ledger-event';
import { type ConsumerState, MOVE_CONSUMER, SET_ASIDE } from './outbox.sql';

/** A process holds a consumer for this time, and extends the hold this often while the handler works. */
export const HOLD_MS = 15_000;
const PROLONG_MS = 1000;
/** If a process has not extended its hold for this time, it stops: another process may soon take over. */
const HELD_MS = 10_000;

/** A consumer that this process holds. Progress is stored from time to time. */
export class Hold {
  // If it fails, the next attempt may still be in time.
  private readonly loop = new Loop(
    () => this.prolong(),
    () => PROLONG_MS,
  );
  private lost = false;

  constructor(
    private readonly database: Database,
    private readonly consumer: { name: string; holder: string },
    private state: ConsumerState,
    private since: number,
  ) {
    this.loop.start();
  }

  get cursor(): OutboxCursor {
    const { xid, position, item } = this.state;
    return { xid, position, item };
  }

  /** How many of the next events are suspected, as one of them failed. */
  get suspects(): number {
    return this.state.suspects;
  }

  /** How often in a row the next event has failed alone. */
  get failures(): number {
    return this.state.failures;
  }

  /** Whether it is certain that no other process has taken the consumer. */
  get isSafe(): boolean {
    return !this.lost && performance.now() - this.since < HELD_MS;
  }

  /** What is before the place has been handled, by this many events. */
  advance(to: OutboxCursor, events: number): void {
    const { suspects } = this.state;
    this.state =
      events > 0
        ? { ...to, suspects: Math.max(0, suspects - events), failures: 0 }
        : { ...this.state, ...to };
  }

  /** @returns when nothing is stored any more */
  end(): Promise<void> {
    return this.loop.stop();
  }

  /**
   * @param wait seconds during which no process may take it
   * @param trouble what is known of the next events since one of them failed
   */
  async release(wait = 0, trouble?: Pick<ConsumerState, 'suspects' | 'failures'>): Promise<void> {
    await this.end();
    this.state = { ...this.state, ...trouble };
    await this.move(0, wait);
  }

  /** Sets the next event aside, goes on behind it, and ends the hold. */
  async setAside(event: LedgerEvent, to: OutboxCursor, error: string): Promise<boolean> {
    await this.end();
    this.advance(to, 1);
    const what = { id: event.id, event: JSON.stringify(event), error };
    const rest = { seconds: 0, wait: 0, ...what };
    return (await this.database.write(SET_ASIDE, { ...this.consumer, ...this.state, ...rest })) !== undefined;
  }

  private async prolong(): Promise<void> {
    const began = performance.now();
    this.lost = !(await this.move(HOLD_MS / 1000, 0));
    this.since = began;
  }

  private async move(seconds: number, wait: number): Promise<boolean> {
    const values = { ...this.consumer, ...this.state, seconds, wait };
    return (await this.database.write(MOVE_CONSUMER, values)) !== undefined;
  }
}
