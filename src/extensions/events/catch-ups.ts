import { Injectable } from '@nestjs/common';
import { Database } from '#platform/database/database';
import { FairTurns } from '#platform/timing/turns';
import { pause } from '#platform/timing/waits';
import { type LedgerEvent, cursorText, parseCursor } from '#ledger/outbox/ledger-event';
import { REST_MS, UnknownTopics } from '#ledger/outbox/unknown-topics';
import { Sessions } from '#features/access/sessions';
import type { EventStream } from './event-stream';
import { CATCH_UP, IS_NEAR } from './events.sql';
import { isKnown } from './readers.sql';

/** Catch-ups of this process that read at the same time. */
const AT_ONCE = 2;
/** Events that are looked at in a step, or one row. It takes the database some 5 ms. */
const STEP = 1000;
/** A client that is further behind, in events of all pools, or misses more events of its own, gets `reload`. */
export const MOST_READ = 20_000;
export const MOST_SENT = 1000;
/** Wait for the feed of ended sessions to answer again. */
const FRESH_POLL_MS = 100;

/** Where the live streams of this process are. Undefined: there are none. */
export type Present = () => string | undefined;

interface Found {
  events: LedgerEvent[];
  /** Everything up to here has been read. */
  reached: string;
  /** How many events were looked at. */
  read: number;
  /** Whether an event of an unknown topic comes next. */
  isStopped: boolean;
}

/** What a catch-up has cost so far. */
interface Spent {
  read: number;
  sent: number;
}

/**
 * Brings streams that begin in the past to the present. Each reads by itself and only what its user may read, in steps
 * that users take in turn, so it delays neither live streams nor, for long, the catch-ups of others.
 */
@Injectable()
export class CatchUps {
  private readonly turns = new FairTurns(AT_ONCE);

  constructor(
    private readonly database: Database,
    private readonly sessions: Sessions,
    private readonly unknown: UnknownTopics,
  ) {}

  /**
   * Sends the stream what it has missed until it is where the live streams are; then it is one of them. Before an event
   * of an unknown topic it waits, as all streams of this process do: the client's place stays before it, from where a
   * newer replica goes on.
   */
  async run(stream: EventStream, present: Present): Promise<void> {
    stream.live = false;
    const spent = { read: 0, sent: 0 };
    try {
      while (isBehind(stream, present)) await this.step(stream, present, spent);
      // In the same turn as the last look at the present.
      stream.live = true;
    } catch {
      // The client reconnects with the id of the last event that it got.
      stream.close('database_failed');
    }
  }

  private async step(stream: EventStream, present: Present, spent: Spent): Promise<void> {
    // Send nothing while it is unknown which sessions have ended. What was read before is read again, because its
    // readers may be others by then.
    if (!this.sessions.isFresh) return pause(FRESH_POLL_MS);
    const found = await this.turns.run(stream.session.userId, () => this.read(stream, spent));
    if (!this.sessions.isFresh) return;
    this.sessions.sweep();
    if (!isBehind(stream, present)) return;
    spent.read += found?.read ?? 0;
    spent.sent += found?.events.length ?? 0;
    if (!found || spent.read > MOST_READ || spent.sent > MOST_SENT) return stream.reload(present()!);
    stream.sendOwn(found.events, found.reached);
    if (found.isStopped && isBehind(stream, present)) await pause(REST_MS);
    await stream.drained();
  }

  /** @returns undefined if the stream is too far behind */
  private async read(stream: EventStream, spent: Spent): Promise<Found | undefined> {
    const after = stream.cursor;
    const cursor = parseCursor(after)!;
    // It may have left while it waited for its turn.
    if (stream.isClosed) return { events: [], reached: after, read: 0, isStopped: false };
    if (spent.read === 0) {
      const row = await this.database.read(IS_NEAR, { ...cursor, most: MOST_READ });
      if (!row?.near) return undefined;
    }
    const { address } = stream.session;
    const rows = await this.database.readAll(CATCH_UP, { ...cursor, events: STEP, address });
    const last = rows.at(-1);
    // What was there is gone: it was removed for its age, or lost in a failover.
    if (!last) return undefined;
    const events = rows.flatMap(({ xid, position, items }) =>
      (items ?? []).map(({ place, event }) => {
        const id = cursorText({ xid, position: Number(position), item: place });
        return { id, ...event } as LedgerEvent;
      }),
    );
    const end = this.unknown.endOf(events);
    const isStopped = end < events.length;
    return {
      events: stream.wanted(events.slice(0, end).filter(isKnown)),
      reached: isStopped
        ? placeBefore(events[end])
        : cursorText({ ...last, position: Number(last.position), item: last.count }),
      read: isStopped ? 0 : last.scanned,
      isStopped,
    };
  }
}

function isBehind(stream: EventStream, present: Present): boolean {
  const cursor = present();
  return !stream.isClosed && cursor !== undefined && stream.cursor < cursor;
}

/** The place after everything that comes before the event. */
function placeBefore({ id }: LedgerEvent): string {
  const { item, ...row } = parseCursor(id)!;
  return cursorText({ ...row, item: item - 1 });
}
