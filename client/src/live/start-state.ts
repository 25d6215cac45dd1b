import { applied } from './applied.js';
import type { EventPayload } from '../events.js';
import { EventCursor } from './event-cursor.js';
import type { Start } from '../types.js';

/** More events than these are not kept between two reads. */
const MOST_LOGGED = 1000;
/** A replica that is behind catches up. A service that was restored stays where it is. */
const MOST_REFUSED = 3;

/**
 * What was read, with everything that has happened since. Events after the last read are kept: an answer may come from
 * a replica that is behind, and then they happen to it once more. `cursor` of the state is always the last event
 * that it contains.
 */
export class StartState {
  private log: EventPayload[] = [];
  /** The log has all events after this one. */
  private logFrom = new EventCursor('');
  private cursor = new EventCursor('');
  private last = '';
  /** After a reload events are kept, but nothing is published of a state that lacks others. */
  private isWhole = true;
  private epoch = 0;
  private refused = 0;
  /** Whether something has happened that only a read can tell. */
  isStale = false;

  constructor(public start: Start | null = null) {
    this.logFrom = this.cursor = new EventCursor(start?.cursor ?? '');
  }

  /** What an answer has to be taken with. */
  get reading(): number {
    return this.epoch;
  }

  /** An event of the stream, in its order. One that the state contains already changes nothing. */
  take(event: EventPayload): void {
    if (event.id <= this.last) return;
    this.last = event.id;
    this.log.push(event);
    if (this.log.length > MOST_LOGGED) this.logFrom = new EventCursor(this.log.shift()!.id);
    this.apply(event);
  }

  /** Events are missing. Those that follow come after this cursor. */
  reload(cursor: string | null): void {
    this.epoch++;
    this.log = [];
    this.last = cursor ?? '';
    this.logFrom = new EventCursor(this.last);
    this.isWhole = false;
    this.isStale = true;
  }

  /**
   * Takes an answer, and lets happen to it what it does not contain.
   * @param reading what this was when the read began
   * @returns whether it was of use: not if events after it are no longer known
   */
  answer(start: Start, reading: number): boolean {
    const cursor = new EventCursor(start.cursor);
    if (reading !== this.epoch) return false;
    if (cursor.isBefore(this.logFrom) && ++this.refused < MOST_REFUSED) return false;
    this.refused = 0;
    this.start = start;
    this.logFrom = this.cursor = cursor;
    this.isWhole = true;
    this.isStale = false;
    this.log = this.log.filter(({ id }) => !cursor.has(id));
    for (const event of this.log) this.apply(event);
    return true;
  }

  private apply(event: EventPayload): void {
    if (!this.start || !this.isWhole || this.cursor.has(event.id)) return;
    const next = applied(this.start, event);
    if (!next) this.isStale = true;
    const cursor = this.cursor.after(event.id);
    this.cursor = new EventCursor(cursor);
    this.start = { ...(next ?? this.start), cursor };
  }
}
