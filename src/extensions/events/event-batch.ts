import type { LedgerEvent, Topic } from '#ledger/outbox/ledger-event';
import { audienceOf } from './readers.sql';

/** By pool: which of the listening addresses may read its events. */
export type Readers = Map<string, Set<string>>;

/** Events as they are sent: each is written out once, however many streams get it. */
const texts = new WeakMap<LedgerEvent, string>();

function textOf(event: LedgerEvent): string {
  const known = texts.get(event);
  if (known !== undefined) return known;
  const text = `id: ${event.id}\nevent: ${event.topic}\ndata: ${JSON.stringify(event)}\n\n`;
  texts.set(event, text);
  return text;
}

/** Events that were read together, grouped by their readers, so that a stream costs only as much as the events it gets. */
export class EventBatch {
  private readonly forAll: LedgerEvent[] = [];
  private readonly byAddress = new Map<string, LedgerEvent[]>();

  constructor(events: LedgerEvent[], readers: Readers) {
    for (const event of events) {
      const { isForAll, pool, account } = audienceOf(event);
      const addresses = new Set(pool ? readers.get(pool) : undefined);
      if (account) addresses.add(account);
      if (isForAll) this.forAll.push(event);
      else
        for (const address of addresses) {
          const own = this.byAddress.get(address);
          if (own) own.push(event);
          else this.byAddress.set(address, [event]);
        }
    }
  }

  /** What an address may read of the events after a cursor, as text of the stream. */
  textFor(address: string, topics: ReadonlySet<Topic>, after: string): string {
    let text = '';
    for (const event of this.eventsFor(address))
      if (event.id > after && topics.has(event.topic)) text += textOf(event);
    return text;
  }

  private eventsFor(address: string): LedgerEvent[] {
    const own = this.byAddress.get(address);
    if (!own) return this.forAll;
    if (this.forAll.length === 0) return own;
    return [...this.forAll, ...own].sort((a, b) => (a.id < b.id ? -1 : 1));
  }
}
