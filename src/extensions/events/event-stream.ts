import type { ServerResponse } from 'node:http';
import type { Topic } from '#ledger/outbox/ledger-event';
import type { Session } from '#features/access/current-user';
import type { EventBatch } from './event-batch';

/** Bytes that may wait for a client. A client that reads more slowly is disconnected and may reconnect. */
export const MAX_BUFFERED = 256 * 1024;
/** Clients wait a random time in this range before they reconnect, so that they do not all come at once. */
export const RETRY_MS = { least: 1000, most: 5000 };

/** Why streams end. */
export const END_REASONS = [
  'client_left',
  'too_slow',
  'session_ended',
  'token_expired',
  'sessions_unknown',
  'database_failed',
  'shutdown',
] as const;
export type EndReason = (typeof END_REASONS)[number];

/** One client that follows events: what it may read and how far it has read. */
export class EventStream {
  /** Whether its session is certain not to have ended before it was watched. Nothing is sent before. */
  isConfirmed = false;
  /** Why we ended it. Otherwise the client does. */
  endReason: EndReason = 'client_left';
  private closed = false;

  /** @param cursor the stream starts after it */
  constructor(
    readonly session: Session,
    private readonly topics: ReadonlySet<Topic>,
    private readonly response: ServerResponse,
    public cursor: string,
  ) {
    const { least, most } = RETRY_MS;
    this.write(`retry: ${Math.round(least + Math.random() * (most - least))}\n${this.idLine()}\n`);
  }

  get isClosed(): boolean {
    return this.closed || this.response.destroyed;
  }

  /**
   * Sends the events that the client has not had and may read, and moves its cursor past all of them.
   * @param reached the cursor after the batch
   * @param most characters; if the events have more, the client gets `reload`
   */
  send(batch: EventBatch, reached: string, most = Infinity): void {
    const text = batch.textFor(this.session.address, this.topics, this.cursor);
    if (text.length > most) return this.reload(reached);
    if (reached > this.cursor) this.cursor = reached;
    if (text) this.write(text);
  }

  private idLine(): string {
    return `id: ${this.cursor}\n`;
  }

  /**
   * Tells the client that it misses events, and that what comes next follows this place.
   * @param present where it goes on
   */
  reload(present: string): void {
    this.cursor = present;
    this.write(`${this.idLine()}event: reload\ndata: {}\n\n`);
  }

  /** A comment, with the cursor, so that a client that gets no events does not reconnect with an old one. */
  ping(): void {
    this.write(`: ping\n${this.idLine()}\n`);
  }

  close(why: EndReason): void {
    if (this.isClosed) return;
    this.endReason = why;
    this.closed = true;
    this.response.end();
  }

  private write(text: string): void {
    if (this.isClosed) return;
    if (this.response.writableLength > MAX_BUFFERED) {
      this.endReason = 'too_slow';
      this.response.destroy();
    } else this.response.write(text);
  }
}
