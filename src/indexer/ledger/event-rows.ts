import type { Client } from 'pg';
import { columnsOf } from '#platform/postgres/columns';
import type { ChainEvent } from '#indexer/reading/decode';
import type { Decision, Item, EventOutcome } from './decide';
import { EVENT_COLUMNS, UPDATE_KEPT } from './event-writer.sql';

/** A row of chain_events as the driver returns it. */
export type EventRow = Record<string, unknown> & { outcome: EventOutcome };

/** What a value is as a field of an event, by the type of its column; others are the same. */
const READ: Partial<Record<string, (value: never) => unknown>> = {
  bigint: Number,
  uuid: (id: string) => id.replaceAll('-', ''),
  time: (time: Date) => time.getTime() / 1000,
};

/** Turns a stored event back into the form in which it was read from the chain. */
export function keptItem(row: EventRow): Item {
  const event: Record<string, unknown> = {};
  for (const [column, type, field] of EVENT_COLUMNS) {
    const value = row[column];
    const read = value === null ? undefined : READ[type];
    event[field] = read ? read(value as never) : value;
  }
  return { event: event as unknown as ChainEvent, before: row.outcome };
}

/** Writes what has become of events that are stored. */
export async function updateKept(client: Client, decisions: Decision[]): Promise<void> {
  const events = decisions.map(({ event }) => event);
  await client.query(UPDATE_KEPT, [
    ...columnsOf(events, 'blockNumber', 'logIndex', 'kind', 'amount'),
    ...columnsOf(decisions, 'outcome', 'reason', 'transactionId'),
  ]);
}

/** Sorts events in chain order. */
export const inChainOrder = (items: Item[]): Item[] =>
  items.sort((a, b) => a.event.blockNumber - b.event.blockNumber || a.event.logIndex - b.event.logIndex);
