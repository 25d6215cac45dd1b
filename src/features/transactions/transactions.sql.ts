import { TRANSACTION_TYPES, type TransactionType } from '#values/types';
import type { ReadableRow } from '#platform/errors/readable';
import { statement } from '#platform/postgres/statement';
import { FINALIZED } from '#ledger/chain/chain.sql';
import { isReader } from '#features/pools/pools.sql';
import { submitted } from '#features/pools/unpaid.sql';
import { MEMBERSHIPS, MEMBER_TOTAL, candidates, memberIds, oldest, total } from './memberships.sql';

/** `last` is the id of the last item. */
export interface ListRow {
  total: number;
  data: string;
  last: string | null;
}

/** `type` null: all types. */
export interface ListParameters {
  caller: string;
  type: TransactionType | null;
  limit: number;
  offset: number;
}

/** SQL: what lists show of the transaction `t`. */
const transactionFields = (t: string): string => `
  'id', ${t}.id, 'poolId', ${t}.pool_id, 'type', ${t}.type, 'amount', ${t}.amount::text, 'txHash', ${t}.tx_hash,
  'blockNumber', ${t}.block_number, 'status', ${t}.status,
  'submitted', ${submitted(t)}, 'createdAt', iso(${t}.created_at), 'from', ${t}.account`;
export const transactionItem = (t: string): string => `json_build_object(${transactionFields(t)})`;

/** Ids from an index that begins with the columns in `where` and the type. One branch per type, each in order. */
const branches = (where: string, limit: string): string =>
  TRANSACTION_TYPES.map(
    (type) => `
      (SELECT id FROM transactions WHERE ${where} AND type = '${type}' AND (:type IS NULL OR :type = '${type}')
       ORDER BY id DESC LIMIT ${limit})`,
  ).join(' UNION ALL ');

/** The newest of all branches, newest first. No branch is read further than needed. */
export const newest = (where: string[], limit: string): string => `
  SELECT id FROM (${where.map((each) => branches(each, limit)).join(' UNION ALL ')}) merged
  ORDER BY id DESC LIMIT ${limit}`;

/** For FROM: the rows with the ids from `page` as JSON, and the last of these ids. */
export const items = (page: string): string => `
  (SELECT coalesce(json_agg(${transactionItem('t')}), '[]')::text AS data, (array_agg(t.id))[count(*)] AS last
   FROM (${page}) page JOIN LATERAL (SELECT * FROM transactions WHERE id = page.id OFFSET 0) t ON true)`;

/** Conditions: in the caller's own pools, and the caller's payments into pools of others. */
export const OWN = ['owner_id = :user', 'account = :caller AND NOT by_owner'];

/** Rows from the first up to the end of the page. */
const REACH = ':limit + :offset';

/**
 * Everything the caller may read: the transactions of the caller's own pools, those of pools that the caller is a
 * member of, and the caller's payments into pools of others. A member's own payments are found twice.
 */
export const LIST_TRANSACTIONS = statement<ListParameters & { user: string }, ListRow>(
  'list_transactions',
  { user: 'uuid', caller: 'text', type: 'text', limit: 'bigint', offset: 'bigint' },
  `
    WITH ${[MEMBERSHIPS, candidates(REACH), oldest(REACH)].join()}
    SELECT (
        (SELECT coalesce(sum(${total('deposits', 'withdrawals', 'claims')}), 0) FROM account_days WHERE address = :caller)
        + ${MEMBER_TOTAL})::int AS total,
      list.data, list.last
    FROM ${items(`
        SELECT DISTINCT id FROM (
          (${newest(OWN, REACH)})
          UNION ALL
          ${memberIds(REACH)}
        ) found ORDER BY id DESC LIMIT :limit OFFSET :offset`)} list`,
  { onStandby: true, chargedTo: 'caller' },
);

/** An outsider's payments into one pool. `IS TRUE` makes the planner find them by account, as the pool may be large. */
export const OUTSIDE = 'account = :caller AND NOT by_owner AND (pool_id = :pool) IS TRUE';

/**
 * For FROM: pool `p`, and `list` with the transactions that the caller may see: all for its readers (`m`),
 * their own for outsiders who paid into it, nulls for others.
 */
export const asReader = (whole: string, outside: string): string => `
  pools p CROSS JOIN LATERAL (SELECT ${isReader('p.id', ':caller')} AS "seesAll" OFFSET 0) m
  LEFT JOIN LATERAL (
    SELECT * FROM ${whole} whole WHERE m."seesAll"
    UNION ALL
    SELECT * FROM ${outside} own WHERE NOT m."seesAll" AND EXISTS (SELECT FROM transactions WHERE ${OUTSIDE})
  ) list ON true
  WHERE p.id = :pool`;

/** Transactions of one pool; outsiders see only their own. */
export const LIST_POOL_TRANSACTIONS = statement<
  ListParameters & { pool: string },
  ReadableRow & Omit<ListRow, 'data'>
>(
  'list_pool_transactions',
  { pool: 'uuid', caller: 'text', type: 'text', limit: 'bigint', offset: 'bigint' },
  `
    SELECT
      CASE WHEN m."seesAll" THEN ${total('p.deposit_count', 'p.withdrawal_count', 'p.claim_count')}
        ELSE (SELECT count(*)::int FROM transactions WHERE ${OUTSIDE} AND (:type IS NULL OR type = :type)) END AS total,
      list.data, list.last
    FROM ${asReader(
      items(`SELECT id FROM (${newest(['pool_id = :pool'], ':limit + :offset')}) found OFFSET :offset`),
      items(`SELECT id FROM (${newest([OUTSIDE], ':limit + :offset')}) found OFFSET :offset`),
    )}`,
  { onStandby: true, chargedTo: 'caller' },
);

const TRANSACTION_DETAIL = `
  SELECT CASE WHEN readable THEN json_build_object(${transactionFields('t')},
    'confirmedAt', iso(t.confirmed_at), 'to', p.contract_address,
    'gasUsed', t.gas_used::text, 'gasPrice', t.gas_price::text, 'l1Fee', t.l1_fee::text,
    'final', coalesce(t.block_number <= ${FINALIZED}, false))::text END AS data
  FROM transactions t
  JOIN pools p ON p.id = t.pool_id
  CROSS JOIN LATERAL (SELECT t.account = :caller OR ${isReader('t.pool_id', ':caller')} AS readable) r`;

/**
 * A chain transaction may contain several of ours: returns the first that the caller may read. `data` is null when
 * there are some, but none that the caller may read.
 */
export const TRANSACTION_BY_HASH = statement<{ hash: string; caller: string }, ReadableRow>(
  'transaction_by_hash',
  { hash: 'text', caller: 'text' },
  `${TRANSACTION_DETAIL} WHERE t.tx_hash = :hash ORDER BY NOT readable, t.log_index LIMIT 1`,
  { onStandby: true, chargedTo: 'caller' },
);

export const TRANSACTION_BY_ID = statement<{ id: string; caller: string }, ReadableRow>(
  'transaction_by_id',
  { id: 'uuid', caller: 'text' },
  `${TRANSACTION_DETAIL} WHERE t.id = :id`,
  { onStandby: true, chargedTo: 'caller' },
);
