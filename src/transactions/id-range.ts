import { parseTime } from '../common/rules';
import { type ListTransactionsQuery, TRANSACTION_CURSOR } from './transactions.dto';

/** UUIDv7 begins with 48 bits of milliseconds since 1970. */
const MAX_TIME_MS = 2 ** 48 - 1;

const uuid = (hex: string): string => hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
/** Below every id of that time and later ones, above every id of earlier ones. */
const startOf = (ms: number): string => uuid(ms.toString(16).padStart(12, '0') + '0'.repeat(20));

/**
 * The ids that a query asks for, between two that are not among them. An id is a UUIDv7 of the time at which the
 * transaction was created, so a time is a place among ids.
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
    const position = TRANSACTION_CURSOR.decode(after)!.toLowerCase();
    // The later bound of the two; ids order as their text does.
    if (order === 'asc' && position > above) above = position;
    if (order === 'desc' && position < below) below = position;
  }
  return { above, below };
}
