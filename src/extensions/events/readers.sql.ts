import { statement } from '#platform/postgres/statement';
import { AUDIENCES, type LedgerEvent, subjectOf } from '#ledger/outbox/ledger-event';

/** Who may read an event: all, or the readers of a pool and an account. Nobody, if it has none of them. */
export interface Audience {
  isForAll: boolean;
  pool: string | null;
  account: string | null;
}

/** Whether this version knows what the event is about. Nobody may read an event that it does not know. */
export const isKnown = (event: LedgerEvent): boolean => Object.hasOwn(AUDIENCES, subjectOf(event));

export function audienceOf(event: LedgerEvent): Audience {
  const { poolId = null, account = null } = event as { poolId?: string; account?: string };
  // A reversal has the audience of what it reverts. A reversal of a reversal has none, like an unknown topic.
  const kind = isKnown(event) ? AUDIENCES[subjectOf(event)] : 'reverted';
  return {
    isForAll: kind === 'all',
    pool: kind === 'pool' ? poolId : null,
    account: kind === 'pool' || kind === 'account' ? account : null,
  };
}

/**
 * The addresses that may read a pool's events: its owner and its members of this moment, or of when it was cancelled.
 * Both parts have one type, or PostgreSQL would not look an address up in them.
 */
export const readersOfPool = (pool: string): string => `
  SELECT m.address::text AS address FROM pool_members m WHERE m.pool_id = ${pool}
  UNION ALL SELECT unnest(c.account::text || c.members) FROM cancelled_pools c WHERE c.id = ${pool}`;

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
