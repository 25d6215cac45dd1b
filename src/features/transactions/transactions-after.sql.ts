import { TRANSACTION_TYPES, type TransactionStatus, type TransactionType } from '#values/types';
import { type CursorPageRow, cursorPage } from '#platform/answers/cursor';
import type { ReadableRow } from '#platform/errors/readable';
import { statement } from '#platform/postgres/statement';
import { OUTSIDE, OWN, TRANSACTION_ITEM, asReader, uuidOf } from './transactions.sql';

export type Order = 'asc' | 'desc';

/** Lists by cursor, in either order. Nothing is counted or skipped, so every page costs the same. */
interface Parameters {
  caller: string;
  /** null: all types. */
  type: TransactionType | null;
  status: TransactionStatus | null;
  /** The list lies between these two ids and does not contain them. */
  above: string;
  below: string;
  limit: number;
}
const TYPES = {
  caller: 'text',
  type: 'text',
  status: 'text',
  above: 'uuid',
  below: 'uuid',
  limit: 'integer',
} as const;

const IN_RANGE = 'id > :above AND id < :below';
/** Few transactions are not on the chain, and they have their own indexes. */
const UNCONFIRMED = `status = :status AND status IN ('PENDING', 'EXPIRED')`;
const ANY_STATUS = `(:status IS NULL OR status = :status)`;

/** The nearest ids that meet one of the conditions. No branch is read further than needed. */
const nearest = (where: string[], order: Order): string => {
  const end = `${IN_RANGE} ORDER BY id ${order} LIMIT :limit + 1`;
  const branches = where.flatMap((each) => [
    ...TRANSACTION_TYPES.map(
      (type) => `
        (SELECT id FROM transactions
         WHERE (:type IS NULL OR :type = '${type}') AND (:status IS NULL OR :status = 'CONFIRMED')
           AND ${each} AND type = '${type}' AND ${ANY_STATUS} AND ${end})`,
    ),
    `(SELECT id FROM transactions
      WHERE :status IN ('PENDING', 'EXPIRED') AND ${each} AND ${UNCONFIRMED} AND (:type IS NULL OR type = :type)
        AND ${end})`,
  ]);
  return `SELECT id FROM (${branches.join(' UNION ALL ')}) merged ORDER BY id ${order} LIMIT :limit + 1`;
};

/** The nearest id of this type in pool `p`. The pool's newest id is stored, so most pools need no look-up. */
const nearestOfType = (type: TransactionType, newest: string, order: Order): string => `
  CASE WHEN :type <> '${type}' OR ${newest} IS NULL OR ${newest} <= :above THEN NULL
    ${order === 'desc' ? `WHEN :status IS NULL AND ${newest} < :below THEN ${newest}` : ''}
    ELSE (SELECT id FROM transactions WHERE pool_id = p.id AND type = '${type}' AND ${ANY_STATUS} AND ${IN_RANGE}
      ORDER BY id ${order} LIMIT 1) END`;

/** For FROM: a page of the rows with these ids, which are already in order. */
const page = (ids: string): string => `
  (SELECT ${cursorPage(TRANSACTION_ITEM, 'page.id')}
   FROM (SELECT id, row_number() OVER () AS n FROM (${ids}) ordered) page
   JOIN LATERAL (SELECT * FROM transactions WHERE id = page.id OFFSET 0) t ON true)`;

/**
 * Everything the caller may read, as in LIST_TRANSACTIONS. Of the pools that the caller is a member of, only n can
 * have rows on a page of n rows: those whose nearest row is nearest. Rows beyond the nearest row of the n-th of these
 * pools cannot be on it.
 */
const all = (order: Order): string => `
  WITH memberships AS MATERIALIZED (
    SELECT p.id, CASE WHEN :status IN ('PENDING', 'EXPIRED')
      THEN (SELECT id FROM transactions WHERE pool_id = p.id AND ${UNCONFIRMED} AND (:type IS NULL OR type = :type)
        AND ${IN_RANGE} ORDER BY id ${order} LIMIT 1)
      ELSE ${order === 'desc' ? 'greatest' : 'least'}(
        ${nearestOfType('DEPOSIT', 'p.last_deposit_id', order)},
        ${nearestOfType('WITHDRAWAL', 'p.last_withdrawal_id', order)},
        ${nearestOfType('YIELD_CLAIM', 'p.last_claim_id', order)}) END AS nearest
    FROM pool_members m JOIN LATERAL (SELECT * FROM pools WHERE id = m.pool_id OFFSET 0) p ON true
    WHERE m.address = :caller AND m.role = 'MEMBER'
  ), candidates AS MATERIALIZED (
    SELECT id, nearest FROM memberships WHERE nearest IS NOT NULL ORDER BY nearest ${order} LIMIT :limit + 1
  ), farthest AS MATERIALIZED (
    SELECT coalesce((SELECT nearest FROM candidates OFFSET :limit), ${uuidOf(order === 'desc' ? '0' : 'f')}) AS id
  )
  SELECT data, next FROM ${page(`
    SELECT DISTINCT id FROM (
      (${nearest(OWN, order)})
      UNION ALL
      SELECT t.id FROM candidates c CROSS JOIN LATERAL (${nearest(
        [`pool_id = c.id AND id ${order === 'desc' ? '>=' : '<='} (SELECT id FROM farthest)`],
        order,
      )}) t
    ) found ORDER BY id ${order} LIMIT :limit + 1`)} list`;

/** Transactions of one pool; outsiders see only their own. */
const ofPool = (order: Order): string => `
  SELECT list.data, list.next
  FROM ${asReader(page(nearest(['pool_id = :pool'], order)), page(nearest([OUTSIDE], order)))}`;

const WITH_USER = { ...TYPES, user: 'uuid' } as const;
export const TRANSACTIONS_AFTER = {
  asc: statement<Parameters & { user: string }, CursorPageRow>('transactions_asc', WITH_USER, all('asc'), {
    onStandby: true,
    chargedTo: 'caller',
  }),
  desc: statement<Parameters & { user: string }, CursorPageRow>('transactions_desc', WITH_USER, all('desc'), {
    onStandby: true,
    chargedTo: 'caller',
  }),
};

const WITH_POOL = { ...TYPES, pool: 'uuid' } as const;
type PoolRow = ReadableRow & Pick<CursorPageRow, 'next'>;
export const POOL_TRANSACTIONS_AFTER = {
  asc: statement<Parameters & { pool: string }, PoolRow>('pool_transactions_asc', WITH_POOL, ofPool('asc'), {
    onStandby: true,
    chargedTo: 'caller',
  }),
  desc: statement<Parameters & { pool: string }, PoolRow>(
    'pool_transactions_desc',
    WITH_POOL,
    ofPool('desc'),
    { onStandby: true, chargedTo: 'caller' },
  ),
};
