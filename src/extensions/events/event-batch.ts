import type { LedgerEvent, Topic } from '#ledger/outbox/ledger-event';
import { rowOf } from '#ledger/outbox/resume-place';
import { audienceOf } from './readers.sql';

/** By pool: which of the listening addresses may read its events. */
export type Readers = Map<string, Set<string>>;

interface Frame {
  readonly id: string;
  readonly topic: Topic;
  readonly place: number;
  /** As it is sent. */
  readonly text: string;
}

/** An event as it is sent. */
export const frameText = (event: LedgerEvent): string =>
  `id: ${event.id}\nevent: ${event.topic}\ndata: ${JSON.stringify(event)}\n\n`;

/**
 * Events that were read together, prepared for many streams: each event is written out once, and a stream costs as much
 * as it has events to get.
 */
export class EventBatch {
  /** Id of the last event. */
  readonly last: string | undefined;
  private readonly forAll: Frame[] = [];
  private readonly byAddress = new Map<string, Frame[]>();

  constructor(events: LedgerEvent[], readers: Readers) {
    this.last = events.at(-1)?.id;
    for (const [place, event] of events.entries()) {
      const { id, topic } = event;
      this.add(event, { id, topic, place, text: frameText(event) }, readers);
    }
  }

  /** What an address may read of the events after a cursor, but for those of some rows, as text of the stream. */
  textFor(address: string, topics: ReadonlySet<Topic>, after: string, without?: ReadonlySet<string>): string {
    let text = '';
    for (const frame of this.framesFor(address))
      if (frame.id > after && topics.has(frame.topic) && !without?.has(rowOf(frame.id))) text += frame.text;
    return text;
  }

  private framesFor(address: string): Frame[] {
    const own = this.byAddress.get(address);
    if (!own) return this.forAll;
    if (this.forAll.length === 0) return own;
    return [...this.forAll, ...own].sort((a, b) => a.place - b.place);
  }

  private add(event: LedgerEvent, frame: Frame, readers: Readers): void {
    const { isForAll, pool, account } = audienceOf(event);
    if (isForAll) return void this.forAll.push(frame);
    const addresses = new Set(pool ? readers.get(pool) : undefined);
    if (account) addresses.add(account);
    for (const address of addresses) {
      const frames = this.byAddress.get(address);
      if (frames) frames.push(frame);
      else this.byAddress.set(address, [frame]);
    }
  }
}
