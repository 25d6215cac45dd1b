import { TRANSACTION_TYPES } from '../common/types';
import type { Statement } from '../database/database';

const TRANSACTION_FIELDS = `
  'id', t.id, 'poolId', t.pool_id, 'type', t.type, 'amount', t.amount::text, 'txHash', t.tx_hash,
  'blockNumber', t.block_number, 'status', t.status, 'createdAt', iso(t.created_at)`;

/**
 * Ids of one page, newest first: one branch a type, merged in order from an index that begins with `key` and type.
 * `$2` is the wanted type or null, `$3` limit; a branch never reads past the page's end.
 */
const pageOf = (table: string, id: string, key: string, offset: string, condition = ''): string => `
  SELECT id FROM (${TRANSACTION_TYPES.map(
    (type) =>
      `(SELECT ${id} AS id FROM ${table} WHERE ${key} = $1 AND type = '${type}' AND ($2::text IS NULL OR $2 = '${type}')
        ${condition} ORDER BY ${id} DESC LIMIT $3::bigint + ${offset})`,
  ).join(' UNION ALL ')}) merged ORDER BY id DESC LIMIT $3 OFFSET ${offset}`;

/** The sum of those counts whose type was asked for. */
const total = (deposits: string, withdrawals: string, claims: string): string => `
  CASE WHEN $2::text IS NULL THEN ${deposits} + ${withdrawals} + ${claims}
    WHEN $2 = 'DEPOSIT' THEN ${deposits} WHEN $2 = 'WITHDRAWAL' THEN ${withdrawals} ELSE ${claims} END`;

const items = (page: string): string => `
  (SELECT coalesce(json_agg(json_build_object(${TRANSACTION_FIELDS})), '[]')::text
   FROM (${page}) page JOIN LATERAL (SELECT * FROM transactions WHERE id = page.id OFFSET 0) t ON true)`;

const READABLE = total('readable_deposits', 'readable_withdrawals', 'readable_claims');

/** Pages that begin later than this are looked for by day. */
const DEEP = 1000;
/** After, or before, every id. */
const uuidOf = (digit: string): string => digit.repeat(32);

/**
 * Everything the caller may read. Parameters: address, type or null, limit, offset. Of a deep page the days that lie
 * before it are left out by their counts: ids are UUIDv7 of the time of creation, so a day is a range of them.
 */
export const LIST_TRANSACTIONS: Statement = {
  name: 'list_transactions',
  text: `
    WITH page_start AS MATERIALIZED (
      SELECT newer, (lpad(to_hex(extract(epoch FROM day + 1)::bigint * 1000), 12, '0') || repeat('0', 20))::uuid AS below
      FROM (
        SELECT day, sum(${READABLE}) OVER (ORDER BY day DESC) - ${READABLE} AS newer, ${READABLE} AS here
        FROM account_days WHERE address = $1 AND $4::bigint > ${DEEP}
      ) days WHERE newer + here > $4::bigint ORDER BY day DESC LIMIT 1
    )
    SELECT coalesce(sum(${READABLE}), 0)::int AS total,
      ${items(
        pageOf(
          'transaction_readers',
          'transaction_id',
          'address',
          '($4::bigint - coalesce((SELECT newer FROM page_start), 0)::bigint)',
          `AND transaction_id < CASE WHEN $4::bigint <= ${DEEP} THEN '${uuidOf('f')}'::uuid
            ELSE coalesce((SELECT below FROM page_start), '${uuidOf('0')}'::uuid) END`,
        ),
      )} AS data
    FROM account_days WHERE address = $1`,
};

/** Those of one pool. Parameters: pool id, type or null, limit, offset, address. Rows as for POOL_DETAIL. */
export const LIST_POOL_TRANSACTIONS: Statement = {
  name: 'list_pool_transactions',
  text: `
    SELECT ${total('p.deposit_count', 'p.withdrawal_count', 'p.claim_count')} AS total,
      CASE WHEN EXISTS (SELECT FROM pool_members WHERE pool_id = p.id AND address = $5)
        THEN ${items(pageOf('transactions', 'id', 'pool_id', '$4::bigint'))} END AS data
    FROM pools p WHERE p.id = $1`,
};

/**
 * Parameters: hash, address. A chain transaction may hold several of ours: the first that the caller may read.
 * data is null when there are some, but none for the caller.
 */
export const TRANSACTION_DETAIL: Statement = {
  name: 'transaction_detail',
  text: `
    SELECT CASE WHEN m.pool_id IS NOT NULL THEN json_build_object(${TRANSACTION_FIELDS},
      'confirmedAt', iso(t.confirmed_at), 'from', t.account, 'to', p.contract_address,
      'gasUsed', t.gas_used::text, 'gasPrice', t.gas_price::text)::text END AS data
    FROM transactions t
    JOIN pools p ON p.id = t.pool_id
    LEFT JOIN pool_members m ON m.pool_id = t.pool_id AND m.address = $2
    WHERE t.tx_hash = $1
    ORDER BY m.pool_id IS NULL, t.log_index LIMIT 1`,
};
