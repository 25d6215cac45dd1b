import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Database } from '#platform/database/database';
import { namedError } from '#platform/errors/errors';
import { pause } from '#platform/timing/waits';
import { BEGINNING, type LedgerEvent, cursorText, eventsOf, parseCursor } from '#ledger/outbox/ledger-event';
import { OutboxPoller } from '#ledger/outbox/outbox-poller';
import { READ_OUTBOX } from '#ledger/outbox/outbox.sql';
import { REST_MS, UnknownTopics } from '#ledger/outbox/unknown-topics';
import { SessionWatch } from '#features/access/session-watch';
import { EventsSettings } from './events.settings';
import { EventBatch, type Readers } from './event-batch';
import type { EventStream } from './event-stream';
import { OPEN_STREAM } from './events.sql';
import { READERS_OF_POOLS, audienceOf } from './readers.sql';

const SWEEP_MS = 1000;
/** How many streams are written to before the process turns to its other work. */
const STREAMS_PER_TURN = 50;
/** How much of the outbox is read at once. */
const ROWS = 200;
const EVENTS = 1000;

/** Where a stream starts. */
export interface Opening {
  cursor: string;
  /** True if some events behind the client's last one have been removed. */
  isGap: boolean;
}

/**
 * Hands the events of the outbox to all streams of this process. Each event is read once, and one query tells for all
 * streams who may read it. A stream that starts further back first catches up by itself.
 */
@Injectable()
export class EventHub implements OnModuleDestroy {
  private readonly streams = new Set<EventStream>();
  private readonly counts = new Map<string, number>();
  /** All live streams have had the events up to here. */
  private cursor?: string;
  /** Where the live streams stopped last, before an event of an unknown topic. */
  private stoppedAt?: string;
  private readonly unknown = new UnknownTopics(new Logger(EventHub.name), 'event streams');
  private leave?: () => void;
  private timer?: NodeJS.Timeout;
  private stopping = false;

  constructor(
    private readonly database: Database,
    private readonly poller: OutboxPoller,
    private readonly sessions: SessionWatch,
    private readonly environment: EventsSettings,
  ) {}

  /**
   * Reserves a stream for the user.
   * @throws ApiError 429 when the user has too many
   */
  reserve(userId: string): void {
    const count = this.counts.get(userId) ?? 0;
    if (count >= this.environment.EVENT_STREAMS_PER_USER) throw namedError('too_many_connections');
    this.counts.set(userId, count + 1);
  }

  release(userId: string): void {
    const count = (this.counts.get(userId) ?? 0) - 1;
    if (count > 0) this.counts.set(userId, count);
    else this.counts.delete(userId);
  }

  /** @param lastEventId as the client sent it */
  async locate(lastEventId: string | undefined): Promise<Opening> {
    const last = lastEventId ? parseCursor(lastEventId) : undefined;
    const { xid, kept } = (await this.database.read(OPEN_STREAM, last ?? BEGINNING))!;
    if (last && kept) return { cursor: cursorText(last), isGap: false };
    return { cursor: cursorText({ xid, position: 0, item: 0 }), isGap: Boolean(lastEventId) };
  }

  /** @returns a function that removes the stream */
  add(stream: EventStream): () => void {
    const unwatch = this.sessions.watch(stream.session, () => stream.close());
    this.streams.add(stream);
    this.timer ??= setInterval(() => this.sweep(), SWEEP_MS).unref();
    this.cursor ??= stream.cursor;
    this.leave ??= this.poller.add(() => this.sendNewEvents());
    if (this.stopping) stream.close();
    void this.catchUp(stream);
    return () => {
      unwatch();
      this.streams.delete(stream);
      if (this.streams.size === 0) this.stopFollowing();
    };
  }

  onModuleDestroy(): void {
    this.stopping = true;
    for (const stream of this.streams) stream.close();
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
    const asked = new Set(this.streams);
    const readers = await this.readersOf(events, [...asked]);
    // While we waited, the last stream may have left and others may have come.
    if (events.length === 0 || this.cursor !== cursor) return;
    this.cursor = events.at(-1)!.id;
    const batch = new EventBatch(events, readers);
    let written = 0;
    for (const stream of [...this.streams]) {
      if (!stream.live) continue;
      if (asked.has(stream)) stream.send(batch);
      else void this.catchUp(stream);
      if (++written % STREAMS_PER_TURN === 0) await nextTurn();
    }
    if (events.length >= EVENTS) this.poller.hurry();
  }

  /**
   * Reads until the stream has everything that the other streams have. Before an event of an unknown topic it waits,
   * as all streams of this process do: the client's place stays before it, from where a newer replica goes on.
   */
  private async catchUp(stream: EventStream): Promise<void> {
    stream.live = false;
    try {
      while (!stream.isClosed && this.cursor !== undefined && stream.cursor < this.cursor) {
        const { events, isStopped } = await this.readEvents(stream.cursor);
        if (events.length > 0) {
          stream.send(new EventBatch(events, await this.readersOf(events, [stream])));
          await stream.drained();
        } else if (isStopped) await pause(REST_MS);
        else break;
      }
      stream.live = true;
    } catch {
      // The client reconnects with the id of the last event that it got.
      stream.close();
    }
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
