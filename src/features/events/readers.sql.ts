import { statement } from '#platform/postgres/statement';
import { AUDIENCES, type LedgerEvent, subjectOf } from '#ledger/outbox/ledger-event';

/** Who may read an event: all, or the readers of a pool and an account. Nobody, if it has none of them. */
export interface Audience {
  isForAll: boolean;
  pool: string | null;
  account: string | null;
}

/** Streams and webhooks both ask here. Nobody may read an event whose topic is unknown. */
export function audienceOf(event: LedgerEvent): Audience {
  const topic = subjectOf(event);
  const { poolId = null, account = null } = event as { poolId?: string; account?: string };
  const audience = Object.hasOwn(AUDIENCES, topic) ? AUDIENCES[topic] : undefined;
  return {
    isForAll: audience === 'all',
    pool: audience === 'pool' ? poolId : null,
    account: audience === 'pool' || audience === 'account' ? account : null,
  };
}

/** The addresses that may read a pool's events: its owner and its members of this moment. */
export const readersOfPool = (pool: string): string =>
  `SELECT m.address FROM pool_members m WHERE m.pool_id = ${pool}`;

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
