import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Database } from '#platform/database/database';
import { ApiError } from '#platform/errors/errors';
import { BEGINNING, type LedgerEvent, cursorText, eventsOf, parseCursor } from '#ledger/outbox/ledger-event';
import { OutboxPoller } from '#ledger/outbox/outbox-poller';
import { READ_OUTBOX } from '#ledger/outbox/outbox.sql';
import { ResumePlace } from '#ledger/outbox/resume-place';
import { UnknownTopics } from '#ledger/outbox/unknown-topics';
import { Sessions } from '#features/access/sessions';
import { CatchUps } from './catch-ups';
import { EventBatch, type Readers } from './event-batch';
import type { EventStream } from './event-stream';
import { OPEN_STREAM } from './events.sql';
import { READERS_OF_POOLS, audienceOf } from './readers.sql';

const SWEEP_MS = 1000;
/** Interval at which an idle process checks that streams can still resume from the place of the live ones. */
const CHECK_MS = 1000;
/** How many streams are written to before the process turns to its other work. */
const STREAMS_PER_TURN = 50;
/** How much of the outbox is read at once. */
const ROWS = 200;
const EVENTS = 1000;

/** Where a stream starts. */
export interface Opening {
  place: ResumePlace;
  /** The place after everything that can be read, which no client decides. */
  present: string;
  /** True if the client's place is not resumable: the stream starts at the present, and misses events. */
  isGap: boolean;
}

/**
 * Hands the events of the outbox to all streams of this process. Each event is read once, and one query tells for all
 * streams who may read it. They begin at the present; a stream that starts further back first catches up by itself.
 */
@Injectable()
export class EventHub implements OnModuleDestroy {
  private readonly streams = new Set<EventStream>();
  /** All live streams have had the events up to here. */
  private cursor?: string;
  /** Where the live streams stopped last, before an event of an unknown topic. */
  private stoppedAt?: string;
  private leave?: () => void;
  private checkAt = -Infinity;
  private timer?: NodeJS.Timeout;
  private stopping = false;

  constructor(
    private readonly database: Database,
    private readonly poller: OutboxPoller,
    private readonly sessions: Sessions,
    private readonly unknown: UnknownTopics,
    private readonly catchUps: CatchUps,
  ) {}

  /** @param lastEventId as the client sent it */
  async locate(lastEventId: string | undefined): Promise<Opening> {
    const last = lastEventId ? ResumePlace.parse(lastEventId) : undefined;
    const { usable, present } = await this.look(last ?? new ResumePlace(BEGINNING));
    if (last && usable) return { place: last, present, isGap: false };
    return { place: new ResumePlace(parseCursor(present)!), present, isGap: Boolean(lastEventId) };
  }

  private async look(place: ResumePlace): Promise<{ usable: boolean; present: string }> {
    const { usable, ...end } = (await this.database.read(OPEN_STREAM, place.parameters))!;
    return { usable, present: cursorText({ ...end, position: Number(end.position) }) };
  }

  /**
   * @param present of its opening
   * @returns a function that removes the stream
   */
  add(stream: EventStream, present: string): () => void {
    const unwatch = this.sessions.watch(stream.session, (why) => stream.close(why));
    this.streams.add(stream);
    this.timer ??= setInterval(() => this.sweep(), SWEEP_MS).unref();
    this.cursor ??= present;
    this.leave ??= this.poller.add(() => this.sendNewEvents());
    if (this.stopping) stream.close('shutdown');
    void this.begin(stream);
    return () => {
      unwatch();
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
    this.leave?.();
    this.timer = this.leave = this.cursor = undefined;
  }

  private async sendNewEvents(): Promise<void> {
    // Send nothing while it is unknown which sessions have ended.
    const { cursor } = this;
    if (cursor === undefined || !this.sessions.isFresh) return;
    if (cursor === this.stoppedAt && this.unknown.isResting) return;
    const { events, isStopped } = await this.readEvents(cursor);
    if (isStopped) this.stoppedAt = events.at(-1)?.id ?? cursor;
    if (events.length === 0) return this.checkPlace(cursor);
    const asked = new Set(this.streams);
    const readers = await this.readersOf(events, [...asked]);
    // While we waited, the last stream may have left and others may have come.
    if (this.cursor !== cursor || !this.sessions.isFresh) return;
    this.sessions.sweep();
    this.cursor = events.at(-1)!.id;
    const batch = new EventBatch(events, readers);
    let written = 0;
    for (const stream of [...this.streams]) {
      if (!stream.live) continue;
      if (asked.has(stream)) stream.send(batch);
      else this.catchUp(stream);
      if (++written % STREAMS_PER_TURN === 0) await nextTurn();
    }
    if (events.length >= EVENTS) this.poller.hurry();
  }

  /**
   * A failover may have lost what the streams have seen, and reuses its ids. A stream at the old place would miss
   * what comes until then.
   */
  private async checkPlace(cursor: string): Promise<void> {
    if (performance.now() < this.checkAt) return;
    this.checkAt = performance.now() + CHECK_MS;
    const { usable, present } = await this.look(new ResumePlace(parseCursor(cursor)!));
    if (usable || this.cursor !== cursor) return;
    this.cursor = present;
    for (const stream of this.streams) stream.reload(present);
  }

  /** Sends nothing before it is certain that the session did not end before its watch began. */
  private async begin(stream: EventStream): Promise<void> {
    try {
      await this.sessions.confirm(stream.session);
    } catch (error) {
      stream.close(error instanceof ApiError ? 'session_ended' : 'database_failed');
    }
    this.catchUp(stream);
  }

  private catchUp(stream: EventStream): void {
    void this.catchUps.run(stream, () => this.cursor);
  }

  private async readEvents(after: string): Promise<{ events: LedgerEvent[]; isStopped: boolean }> {
    const cursor = parseCursor(after)!;
    const rows = await this.database.readAll(READ_OUTBOX, { ...cursor, rows: ROWS, events: EVENTS });
    const events = rows.flatMap((row) => eventsOf(row)).filter(({ id }) => id > after);
    const end = this.unknown.endOf(events);
    return { events: events.slice(0, end), isStopped: end < events.length };
  }

  private async readersOf(events: LedgerEvent[], streams: EventStream[]): Promise<Readers> {
    const readers: Readers = new Map();
    const pools = new Set(events.flatMap((event) => audienceOf(event).pool ?? []));
    const addresses = new Set(streams.map(({ session }) => session.address));
    if (pools.size === 0 || addresses.size === 0) return readers;
    for (const pool of pools) readers.set(pool, new Set());
    const rows = await this.database.readAll(READERS_OF_POOLS, {
      pools: [...pools],
      addresses: [...addresses],
    });
    for (const { pool, addresses: those } of rows) readers.set(pool, new Set(those.split(' ')));
    return readers;
  }

  private sweep(): void {
    this.sessions.sweep();
    for (const stream of this.streams) stream.keepAlive(SWEEP_MS);
  }
}
