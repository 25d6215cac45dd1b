import { applied } from './applied.js';
import type { EventPayload } from './events.js';
import type { Start } from './types.js';

/** More events than these are not kept between two reads. */
const MOST_LOGGED = 1000;

/**
 * What was read, with everything that has happened since. Events after the last read are kept: an answer may come from
 * a replica that is behind, and then they happen to it once more. `cursor` of the picture is always the last event
 * that it contains.
 */
export class Picture {
  private log: EventPayload[] = [];
  /** The log has all events after this one. */
  private logFrom = '';
  /** After a reload events are kept, but nothing is told of a picture that lacks others. */
  private isWhole = true;
  private epoch = 0;
  /** Whether something has happened that only a read can tell. */
  isStale = false;

  constructor(public start: Start | null = null) {
    this.logFrom = start?.cursor ?? '';
  }

  /** What an answer has to be taken with. */
  get reading(): number {
    return this.epoch;
  }

  /** An event of the stream, in its order. One that the picture contains already changes nothing. */
  take(event: EventPayload): void {
    if (event.id <= (this.log.at(-1)?.id ?? this.logFrom)) return;
    this.log.push(event);
    if (this.log.length > MOST_LOGGED) this.logFrom = this.log.shift()!.id;
    this.apply(event);
  }

  /** Events are missing. Those that follow come after this place. */
  reload(place: string | null): void {
    this.epoch++;
    this.log = [];
    this.logFrom = place ?? '';
    this.isWhole = false;
    this.isStale = true;
  }

  /**
   * Takes an answer, and lets happen to it what it does not contain.
   * @param reading what this was when the read began
   * @returns whether it was of use: not if events after it are no longer known
   */
  answer(start: Start, reading: number): boolean {
    if (reading !== this.epoch || start.cursor < this.logFrom) return false;
    this.start = start;
    this.isWhole = true;
    this.isStale = false;
    this.log = this.log.filter(({ id }) => id > start.cursor);
    this.logFrom = start.cursor;
    for (const event of this.log) this.apply(event);
    return true;
  }

  private apply(event: EventPayload): void {
    if (!this.start || !this.isWhole || event.id <= this.start.cursor) return;
    const next = applied(this.start, event);
    if (!next) this.isStale = true;
    this.start = { ...(next ?? this.start), cursor: event.id };
  }
}
