import { parseTime } from '#values/rules';
import { type ListTransactionsQuery, TRANSACTION_CURSOR } from './transactions.dto';

/** UUIDv7 begins with 48 bits of milliseconds since 1970. */
const MAX_TIME_MS = 2 ** 48 - 1;

const uuid = (hex: string): string => hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
/** Below all ids of that time or later, above all earlier ids. */
const startOf = (ms: number): string => uuid(ms.toString(16).padStart(12, '0') + '0'.repeat(20));

/**
 * The range of ids for a query, without its two bounds. An id is a UUIDv7 of the time when the transaction was
 * created, so a time has a place among ids.
 */
export function idRange({
  from,
  to,
  after,
  order = 'desc',
}: Pick<ListTransactionsQuery, 'from' | 'to' | 'after' | 'order'>): { above: string; below: string } {
  const place = (time: string): string => startOf(Math.min(Math.max(parseTime(time)!, 0), MAX_TIME_MS));
  let above = from === undefined ? startOf(0) : place(from);
  let below = to === undefined ? uuid('f'.repeat(32)) : place(to);
  if (after !== undefined) {
    const id = TRANSACTION_CURSOR.decode(after)!.toLowerCase();
    // Use the narrower of the two bounds. Ids sort like their text.
    if (order === 'asc' && id > above) above = id;
    if (order === 'desc' && id < below) below = id;
  }
  return { above, below };
}
