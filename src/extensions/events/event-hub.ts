import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Database } from '#platform/database/database';
import { ApiError } from '#platform/errors/errors';
import {
  BEGINNING,
  type LedgerEvent,
  type OutboxCursor,
  cursorText,
  eventsOf,
  parseCursor,
} from '#ledger/outbox/ledger-event';
import { OutboxPoller } from '#ledger/outbox/outbox-poller';
import { EVENTS, READ_OUTBOX } from '#ledger/outbox/outbox.sql';
import { UnknownTopics } from '#ledger/outbox/unknown-topics';
import { Sessions } from '#features/access/sessions';
import { EventBatch, type Readers } from './event-batch';
import { type EventStream, MAX_BUFFERED } from './event-stream';
import { OPEN_STREAM } from './events.sql';
import { READERS_OF_POOLS, audienceOf, isKnown } from './readers.sql';

const SWEEP_MS = 1000;
/** Each stream has its own timer, so that those opened at different times are not all written to at once. */
const PING_MS = 15_000;
/** Interval at which an idle process checks that streams can still resume from the place of the live ones. */
const CHECK_MS = 1000;
/** How many streams are written to before the process turns to its other work. */
const STREAMS_PER_TURN = 50;
/** Events of all pools that are kept for streams that come back. A client that missed more gets `reload`. */
export const MOST_MISSED = 5000;

/** Where a stream starts. */
export interface Opening {
  cursor: string;
  /** The cursor after everything that can be read, which no client decides. */
  present: string;
  /** True if the client's cursor is not resumable: the stream starts at the present, and misses events. */
  isGap: boolean;
}

/** The events that this process has read and kept, from `start` to `cursor`. Live streams have had all of them. */
interface Recent {
  start: string;
  events: LedgerEvent[];
  cursor: string;
}

/**
 * Hands the events of the outbox to all streams of this process. Each event is read once, and one query finds for all
 * streams who may read it. Streams that start further back get what they missed together, from the events that were
 * kept, and nobody waits for them. If these do not reach back far enough, earlier ones are read once.
 */
@Injectable()
export class EventHub implements OnModuleDestroy {
  private readonly streams = new Set<EventStream>();
  private readonly unknown = new UnknownTopics(new Logger(EventHub.name), 'event streams');
  /** Undefined while there are no streams. */
  private recent?: Recent;
  private leave?: (() => Promise<void>)[];
  private checkAt = -Infinity;
  private timer?: NodeJS.Timeout;
  private stopping = false;

  constructor(
    private readonly database: Database,
    private readonly poller: OutboxPoller,
    private readonly sessions: Sessions,
  ) {}

  /** @param lastEventId as the client sent it */
  async locate(lastEventId: string | undefined): Promise<Opening> {
    // Cursors of version 1 had more after a tilde.
    const last = lastEventId ? parseCursor(lastEventId.split('~')[0]) : undefined;
    const { usable, near, present } = await this.look(last ?? BEGINNING, last ? MOST_MISSED : 0);
    if (last && usable && near) return { cursor: cursorText(last), present, isGap: false };
    return { cursor: present, present, isGap: Boolean(lastEventId) };
  }

  private async look(
    cursor: OutboxCursor,
    most = 0,
  ): Promise<{ usable: boolean; near: boolean; present: string }> {
    const row = await this.database.read(OPEN_STREAM, { ...cursor, most });
    const { usable, near, ...end } = row!;
    return { usable, near, present: cursorText({ ...end, position: Number(end.position) }) };
  }

  /**
   * @param present of its opening
   * @returns a function that removes the stream
   */
  add(stream: EventStream, present: string): () => void {
    const unwatch = this.sessions.watch(stream.session, (why) => stream.close(why));
    this.streams.add(stream);
    const pings = setInterval(() => stream.ping(), PING_MS).unref();
    this.timer ??= setInterval(() => this.sessions.sweep(), SWEEP_MS).unref();
    this.recent ??= startingAt(present);
    this.leave ??= [
      this.poller.add('event streams', () => this.sendNew()),
      this.poller.add('event stream catch-up', () => this.sendMissed()),
    ];
    if (this.stopping) stream.close('shutdown');
    void this.begin(stream);
    return () => {
      unwatch();
      clearInterval(pings);
      this.streams.delete(stream);
      if (this.streams.size === 0) this.stopFollowing();
    };
  }

  onModuleDestroy(): void {
    this.stopping = true;
    for (const stream of this.streams) stream.close('shutdown');
    this.stopFollowing();
  }

  private stopFollowing(): void {
    clearInterval(this.timer);
    for (const leave of this.leave ?? []) void leave();
    this.timer = this.leave = this.recent = undefined;
  }

  /** Reads what is new, and sends it to the streams that have had all before it. */
  private async sendNew(): Promise<void> {
    const { recent } = this;
    // Nothing is sent while it is unknown which sessions have ended.
    if (!recent || !this.sessions.isFresh) return;
    const read = await this.read(recent.cursor);
    const events = read.slice(0, this.unknown.endOf(read));
    if (events.length === 0) return this.checkPlace(recent);
    const live = this.streamsThat((cursor) => cursor >= recent.cursor);
    const readers = await this.readersOf(events, live);
    if (!this.sessions.isFresh) return;
    recent.cursor = events.at(-1)!.id;
    recent.events.push(...events);
    const tooMany = recent.events.length - MOST_MISSED;
    if (tooMany > 0) recent.start = recent.events.splice(0, tooMany).at(-1)!.id;
    await this.send(recent, live, new EventBatch(events, readers), { ...recent });
    if (events.length >= EVENTS) this.poller.hurry();
  }

  /** Sends the other streams what they have missed, with one query for all who may read it. */
  private async sendMissed(): Promise<void> {
    const { recent } = this;
    if (!recent || !this.sessions.isFresh) return;
    const behind = this.streamsThat((cursor) => cursor < recent.cursor);
    if (behind.length === 0) return;
    const [earliest] = behind.map(({ cursor }) => cursor).sort();
    await this.readBack(recent, earliest);
    const { start, cursor } = recent;
    const events = recent.events.filter(({ id }) => id > earliest);
    const readers = await this.readersOf(events, behind);
    if (!this.sessions.isFresh) return;
    await this.send(recent, behind, new EventBatch(events, readers), { start, cursor }, MAX_BUFFERED);
  }

  private streamsThat(have: (cursor: string) => boolean): EventStream[] {
    return [...this.streams].filter((each) => each.isConfirmed && have(each.cursor));
  }

  /**
   * Writes the events of a batch that each stream has not had. Streams from before `start` get `reload`.
   * @param cursor of the last event
   * @param most characters for each stream
   */
  private async send(
    recent: Recent,
    streams: EventStream[],
    batch: EventBatch,
    { start, cursor }: Pick<Recent, 'start' | 'cursor'>,
    most = Infinity,
  ): Promise<void> {
    this.sessions.sweep();
    for (const [n, stream] of streams.entries()) {
      if (n > 0 && n % STREAMS_PER_TURN === 0) await nextTurn();
      // The streams have left, or a failover has lost these events.
      if (this.recent !== recent) return;
      if (stream.cursor < start) stream.reload(cursor);
      else stream.send(batch, cursor, most);
    }
  }

  /**
   * A failover may have lost what the streams have seen, and reuses its ids. A stream at the old place would miss
   * what comes until then.
   */
  private async checkPlace(recent: Recent): Promise<void> {
    if (performance.now() < this.checkAt) return;
    this.checkAt = performance.now() + CHECK_MS;
    const { usable, present } = await this.look(parseCursor(recent.cursor)!);
    // While we waited, the last stream may have left and others may have come.
    if (usable || this.recent !== recent) return;
    this.recent = startingAt(present);
    for (const stream of this.streams) stream.reload(present);
  }

  /** Sends nothing before it is certain that the session did not end before its watch began. */
  private async begin(stream: EventStream): Promise<void> {
    try {
      await this.sessions.confirm(stream.session);
      stream.isConfirmed = true;
      this.poller.hurry();
    } catch (error) {
      stream.close(error instanceof ApiError ? 'session_ended' : 'database_failed');
    }
  }

  /** Adds the events after a cursor: none if they are too many, and none before an event of an unknown topic. */
  private async readBack(recent: Recent, after: string): Promise<void> {
    const found: LedgerEvent[] = [];
    for (let last: string | undefined = after; last !== undefined && last < recent.start;) {
      const events = await this.read(last);
      found.push(...events);
      if (found.length > MOST_MISSED + 2 * EVENTS) return;
      last = events.at(-1)?.id;
    }
    if (after >= recent.start) return;
    const earlier = found.filter(({ id }) => id <= recent.start);
    const unknown = earlier.findLastIndex((event) => !isKnown(event));
    recent.events.unshift(...earlier.slice(unknown + 1));
    recent.start = unknown < 0 ? after : earlier[unknown].id;
  }

  private async read(after: string): Promise<LedgerEvent[]> {
    const rows = await this.database.readAll(READ_OUTBOX, parseCursor(after)!);
    return rows.flatMap((row) => eventsOf(row)).filter(({ id }) => id > after);
  }

  private async readersOf(events: LedgerEvent[], streams: EventStream[]): Promise<Readers> {
    const readers: Readers = new Map();
    const pools = new Set(events.flatMap((event) => audienceOf(event).pool ?? []));
    const addresses = new Set(streams.map(({ session }) => session.address));
    if (pools.size === 0 || addresses.size === 0) return readers;
    const rows = await this.database.readAll(READERS_OF_POOLS, {
      pools: [...pools],
      addresses: [...addresses],
    });
    for (const { pool, addresses: those } of rows) readers.set(pool, new Set(those.split(' ')));
    return readers;
  }
}

const startingAt = (present: string): Recent => ({ start: present, events: [], cursor: present });
