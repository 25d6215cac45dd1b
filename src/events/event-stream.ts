import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Session } from '../auth/current-user';
import type { LedgerEvent, Topic } from '../outbox/ledger-event';

/** Bytes that may wait for a client. A client that reads more slowly is disconnected and may reconnect. */
const MAX_BUFFERED = 256 * 1024;
const DRAIN_POLL_MS = 20;
/** Clients are told to wait a random time in this range before they reconnect, so that they do not all come at once. */
const RETRY_MS = { least: 1000, most: 5000 };

/** By pool: which of the listening addresses may read its events. */
export type Readers = Map<string, Set<string>>;

/** One client that follows events: what it may read and how far it has read. */
export class EventStream {
  /** False while it catches up. */
  live = false;
  private closed = false;

  /** @param cursor the stream starts after it */
  constructor(
    readonly session: Session,
    private readonly topics: ReadonlySet<Topic>,
    private readonly response: ServerResponse,
    public cursor: string,
  ) {
    const { least, most } = RETRY_MS;
    this.write(`retry: ${Math.round(least + Math.random() * (most - least))}\nid: ${cursor}\n\n`);
  }

  get isClosed(): boolean {
    return this.closed || this.response.destroyed;
  }

  /** Sends the events that the client has not had and may read, and moves its cursor past all of them. */
  send(events: LedgerEvent[], readers: Readers): void {
    let text = '';
    for (const event of events) {
      if (event.id <= this.cursor || !this.topics.has(event.topic) || !this.mayRead(event, readers)) continue;
      text += `id: ${event.id}\nevent: ${event.topic}\ndata: ${JSON.stringify(event)}\n\n`;
    }
    const last = events.at(-1)?.id;
    if (last !== undefined && last > this.cursor) this.cursor = last;
    if (text) this.write(text);
  }

  /** Tells the client that it has missed events that are no longer kept. */
  reload(): void {
    this.write(`event: reload\ndata: {}\n\n`);
  }

  /** Includes the cursor, so that a client that gets no events does not reconnect with an old one. */
  ping(): void {
    this.write(`: ping\nid: ${this.cursor}\n\n`);
  }

  close(): void {
    this.closed = true;
    this.response.end();
  }

  /** Waits until the client has taken most of what was sent. */
  async drained(): Promise<void> {
    while (!this.isClosed && this.response.writableLength > MAX_BUFFERED / 4) await sleep(DRAIN_POLL_MS);
  }

  private mayRead(event: LedgerEvent, readers: Readers): boolean {
    const { address } = this.session;
    const topic = event.topic === 'transaction.reverted' ? event.reverted : event.topic;
    if (topic.startsWith('draw.')) return true;
    if ('account' in event && event.account === address) return true;
    return (
      'poolId' in event && event.poolId !== undefined && readers.get(event.poolId)?.has(address) === true
    );
  }

  private write(text: string): void {
    if (this.isClosed) return;
    if (this.response.writableLength > MAX_BUFFERED) this.response.destroy();
    else this.response.write(text);
  }
}
