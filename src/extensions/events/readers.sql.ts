import { statement } from '#platform/postgres/statement';
import { AUDIENCES, type LedgerEvent, TOPICS, type Topic, subjectOf } from '#ledger/outbox/ledger-event';

/** Who may read an event: all, or the readers of a pool and an account. Nobody, if it has none of them. */
export interface Audience {
  isForAll: boolean;
  pool: string | null;
  account: string | null;
}

/** What each kind of audience in `AUDIENCES` means, for `audienceOf` and `mayRead` alike. */
const KINDS: Record<(typeof AUDIENCES)[Topic], { all: boolean; pool: boolean; account: boolean }> = {
  all: { all: true, pool: false, account: false },
  pool: { all: false, pool: true, account: true },
  account: { all: false, pool: false, account: true },
  // Its readers are those of the event that it takes back, so none of its own.
  reverted: { all: false, pool: false, account: false },
};
const NOBODY = KINDS.reverted;

/** Whether this version knows what the event is about. Nobody may read an event that it does not know. */
export const isKnown = (event: LedgerEvent): boolean => Object.hasOwn(AUDIENCES, subjectOf(event));

/** For streams and webhooks; catch-ups use `mayRead`, in SQL. */
export function audienceOf(event: LedgerEvent): Audience {
  const { poolId = null, account = null } = event as { poolId?: string; account?: string };
  const kind = isKnown(event) ? KINDS[AUDIENCES[subjectOf(event)]] : NOBODY;
  return {
    isForAll: kind.all,
    pool: kind.pool ? poolId : null,
    account: kind.account ? account : null,
  };
}

/**
 * The addresses that may read a pool's events: its owner and its members of this moment, or of when it was cancelled.
 * Both parts have one type, or PostgreSQL would not look an address up in them.
 */
export const readersOfPool = (pool: string): string => `
  SELECT m.address::text AS address FROM pool_members m WHERE m.pool_id = ${pool}
  UNION ALL SELECT unnest(c.account::text || c.members) FROM cancelled_pools c WHERE c.id = ${pool}`;

const subject = (event: string): string =>
  `CASE ${event}.topic WHEN 'transaction.reverted' THEN ${event}.reverted ELSE ${event}.topic END`;
const isAmong = (event: string, topics: readonly Topic[]): string =>
  `coalesce(${subject(event)} IN (${topics.map((topic) => `'${topic}'`).join(', ')}), false)`;
const topicsFor = (part: 'all' | 'pool' | 'account'): Topic[] =>
  TOPICS.filter((topic) => KINDS[AUDIENCES[topic]][part]);

/**
 * Whether an address may read an event, as `audienceOf` says it. The pool is asked by its key for each event, so it does
 * not matter how many pools the address may read; a list of them would be as long as strangers like.
 * @param event a row with the texts topic, reverted, pool and account
 */
export const mayRead = (event: string, address: string): string => `(
    ${isAmong(event, topicsFor('all'))}
    OR (${isAmong(event, topicsFor('account'))} AND coalesce(${event}.account = ${address}, false))
    OR CASE WHEN ${isAmong(event, topicsFor('pool'))} THEN EXISTS (
      SELECT FROM (${readersOfPool(`${event}.pool::uuid`)}) r WHERE r.address = ${address} OFFSET 0) ELSE false END)`;

/** Whether `isKnown` says no, in SQL. */
export const isUnknown = (event: string): string => `NOT ${isAmong(event, TOPICS)}`;

/** Which of these addresses may read which of these pools: one row a pool, so that many readers are quickly read. */
export const READERS_OF_POOLS = statement<
  { pools: string[]; addresses: string[] },
  { pool: string; addresses: string }
>(
  'readers_of_pools',
  { pools: 'uuid[]', addresses: 'text[]' },
  `
    SELECT p.id AS pool, string_agg(r.address, ' ') AS addresses
    FROM unnest(:pools) AS p(id) CROSS JOIN LATERAL (${readersOfPool('p.id')}) r
    WHERE r.address = ANY(:addresses) GROUP BY p.id`,
);
