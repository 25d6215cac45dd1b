import { TRANSACTION_TYPES } from '../common/types';
import type { Statement } from '../database/database';

const TRANSACTION_FIELDS = `
  'id', t.id, 'poolId', t.pool_id, 'type', t.type, 'amount', t.amount::text, 'txHash', t.tx_hash,
  'blockNumber', t.block_number, 'status', t.status, 'createdAt', iso(t.created_at)`;

/** The sum of those counts whose type was asked for. `$2` is the wanted type or null. */
const total = (deposits: string, withdrawals: string, claims: string): string => `
  CASE WHEN $2::text IS NULL THEN ${deposits} + ${withdrawals} + ${claims}
    WHEN $2 = 'DEPOSIT' THEN ${deposits} WHEN $2 = 'WITHDRAWAL' THEN ${withdrawals} ELSE ${claims} END`;

/** Ids from an index whose columns before `id` are fixed by `where` and type: a branch a type, each in order. */
const branches = (where: string, limit: string): string =>
  TRANSACTION_TYPES.map(
    (type) => `
      (SELECT id FROM transactions WHERE ${where} AND type = '${type}' AND ($2::text IS NULL OR $2 = '${type}')
       ORDER BY id DESC LIMIT ${limit})`,
  ).join(' UNION ALL ');

/** The newest of them all, newest first; no branch is read further than needed. */
const newest = (where: string[], limit: string): string => `
  SELECT id FROM (${where.map((each) => branches(each, limit)).join(' UNION ALL ')}) merged
  ORDER BY id DESC LIMIT ${limit}`;

/** JSON of the rows that `page` gives the ids of. */
const items = (page: string): string => `
  (SELECT coalesce(json_agg(json_build_object(${TRANSACTION_FIELDS})), '[]')::text
   FROM (${page}) page JOIN LATERAL (SELECT * FROM transactions WHERE id = page.id OFFSET 0) t ON true)`;

/** Of the caller's pools, and of his payments into pools of others. */
const OWN = ['owner_id = $1', 'account = $5 AND NOT by_owner'];

/** The pools that the caller is a member of, with the number and the newest of their transactions of the wanted type. */
const MEMBERSHIPS = `
  memberships AS MATERIALIZED (
    SELECT p.id, ${total('p.deposit_count', 'p.withdrawal_count', 'p.claim_count')} AS count,
      CASE WHEN $2::text IS NULL THEN greatest(p.last_deposit_id, p.last_withdrawal_id, p.last_claim_id)
        WHEN $2 = 'DEPOSIT' THEN p.last_deposit_id WHEN $2 = 'WITHDRAWAL' THEN p.last_withdrawal_id
        ELSE p.last_claim_id END AS newest
    FROM pool_members m JOIN LATERAL (SELECT * FROM pools WHERE id = m.pool_id OFFSET 0) p ON true
    WHERE m.address = $5 AND m.role = 'MEMBER'
  )`;

/** After, or before, every id. */
const uuidOf = (digit: string): string => `'${digit.repeat(32)}'::uuid`;

/**
 * Everything the caller may read: what his pools hold, what the pools hold that he is a member of, and his payments
 * into pools of others. Parameters: user id, type or null, limit, offset, address. Row: total, data (JSON text).
 *
 * A page of n rows and those before it can hold rows of n pools at most: those whose newest row is newest. Older rows
 * than the newest of the n-th of these pools cannot be on it. A member's own payments are found twice.
 */
export const LIST_TRANSACTIONS: Statement = {
  name: 'list_transactions',
  text: `
    WITH ${MEMBERSHIPS}, candidates AS MATERIALIZED (
      SELECT id, newest FROM memberships WHERE newest IS NOT NULL ORDER BY newest DESC LIMIT $3::bigint + $4::bigint
    ), oldest AS MATERIALIZED (
      SELECT coalesce((SELECT newest FROM candidates OFFSET $3::bigint + $4::bigint - 1), ${uuidOf('0')}) AS id
    )
    SELECT (
        (SELECT coalesce(sum(${total('deposits', 'withdrawals', 'claims')}), 0) FROM account_days WHERE address = $5)
        + (SELECT coalesce(sum(count), 0) FROM memberships))::int AS total,
      ${items(`
        SELECT DISTINCT id FROM (
          (${newest(OWN, '$3::bigint + $4::bigint')})
          UNION ALL
          SELECT t.id FROM candidates c CROSS JOIN LATERAL (${newest(
            ['pool_id = c.id AND id >= (SELECT id FROM oldest)'],
            '$3::bigint + $4::bigint',
          )}) t
        ) found ORDER BY id DESC LIMIT $3 OFFSET $4::bigint`)} AS data`,
};

/** Pages that begin later than this are read with LIST_DEEP_TRANSACTIONS. */
export const DEEP = 1000;

/**
 * The same for a page far from the start. Of the caller's own rows the days before the page are skipped by their
 * counts (ids are UUIDv7 of the time of creation, so a day is a range of them); of the pools he is a member of, the
 * ids before the page are read from the index, so that part costs as much as the offset.
 */
export const LIST_DEEP_TRANSACTIONS: Statement = {
  name: 'list_deep_transactions',
  text: `
    WITH ${MEMBERSHIPS}, own_days AS MATERIALIZED (
      SELECT day, sum(${total('deposits', 'withdrawals', 'claims')}) AS count
      FROM account_days WHERE address = $5 GROUP BY day
    ), whole AS MATERIALIZED (
      SELECT ((SELECT coalesce(sum(count), 0) FROM own_days) + (SELECT coalesce(sum(count), 0) FROM memberships))::bigint AS total
    ), reach AS MATERIALIZED (
      SELECT CASE WHEN total > $4::bigint THEN $3::bigint + $4::bigint ELSE 0 END AS rows FROM whole
    ), member_ids AS MATERIALIZED (
      SELECT t.id FROM reach, memberships c JOIN transactions t ON t.pool_id = c.id AND ($2::text IS NULL OR t.type = $2)
      WHERE c.count <= reach.rows
      UNION ALL
      SELECT t.id FROM reach, memberships c
      CROSS JOIN LATERAL (${newest(['pool_id = c.id'], '(SELECT rows FROM reach)')}) t
      WHERE c.count > reach.rows AND reach.rows > 0
    ), ends AS MATERIALIZED (
      SELECT array_agg((lpad(to_hex(extract(epoch FROM day + 1)::bigint * 1000), 12, '0') || repeat('0', 20))::uuid
        ORDER BY day) AS ids FROM own_days
    ), page_start AS MATERIALIZED (
      SELECT ids[n] AS below, newer FROM (
        SELECT n, sum(own) OVER newest_first - own + sum(others) OVER newest_first AS newer FROM (
          SELECT n, sum(own) AS own, sum(others) AS others FROM (
            SELECT row_number() OVER (ORDER BY day)::int AS n, count AS own, 0 AS others FROM own_days
            UNION ALL
            SELECT width_bucket(id, ids), 0, count(*) FROM member_ids, ends WHERE ids IS NOT NULL GROUP BY 1
          ) parts GROUP BY n
        ) days WINDOW newest_first AS (ORDER BY n DESC)
      ) days, ends WHERE n > 0 AND newer <= $4::bigint ORDER BY n LIMIT 1
    ), start AS MATERIALIZED (
      SELECT coalesce((SELECT below FROM page_start), ${uuidOf('f')}) AS below,
        $4::bigint - coalesce((SELECT newer FROM page_start), 0)::bigint AS skipped
    )
    SELECT total::int, ${items(`
      SELECT DISTINCT id FROM (
        (${newest(
          OWN.map((own) => `${own} AND id < (SELECT below FROM start)`),
          '(SELECT $3::bigint + skipped FROM start, whole WHERE total > $4::bigint UNION ALL SELECT 0 LIMIT 1)',
        )})
        UNION ALL
        SELECT id FROM member_ids WHERE id < (SELECT below FROM start)
      ) found ORDER BY id DESC LIMIT $3 OFFSET (SELECT skipped FROM start)`)} AS data
    FROM whole`,
};

/** An outsider's payments into one pool: found by account, as the pool may be large. The condition on the pool is no index's. */
const OUTSIDE = 'account = $5 AND NOT by_owner AND (pool_id = $1) IS TRUE';

/**
 * Those of one pool; for an outsider his own there. Parameters: pool id, type or null, limit, offset, address. Rows as
 * for POOL_DETAIL.
 */
export const LIST_POOL_TRANSACTIONS: Statement = {
  name: 'list_pool_transactions',
  text: `
    SELECT
      CASE WHEN m.pool_id IS NOT NULL THEN ${total('p.deposit_count', 'p.withdrawal_count', 'p.claim_count')}
        ELSE (SELECT count(*)::int FROM transactions WHERE ${OUTSIDE} AND ($2::text IS NULL OR type = $2)) END AS total,
      CASE WHEN m.pool_id IS NOT NULL
        THEN ${items(`SELECT id FROM (${newest(['pool_id = $1'], '$3::bigint + $4::bigint')}) found OFFSET $4::bigint`)}
        WHEN EXISTS (SELECT FROM transactions WHERE ${OUTSIDE})
        THEN ${items(`SELECT id FROM (${newest([OUTSIDE], '$3::bigint + $4::bigint')}) found OFFSET $4::bigint`)}
        END AS data
    FROM pools p LEFT JOIN pool_members m ON m.pool_id = p.id AND m.address = $5 WHERE p.id = $1`,
};

/**
 * Parameters: hash, address. A chain transaction may hold several of ours: the first that the caller may read.
 * data is null when there are some, but none for the caller.
 */
export const TRANSACTION_DETAIL: Statement = {
  name: 'transaction_detail',
  text: `
    SELECT CASE WHEN readable THEN json_build_object(${TRANSACTION_FIELDS},
      'confirmedAt', iso(t.confirmed_at), 'from', t.account, 'to', p.contract_address,
      'gasUsed', t.gas_used::text, 'gasPrice', t.gas_price::text)::text END AS data
    FROM transactions t
    JOIN pools p ON p.id = t.pool_id
    CROSS JOIN LATERAL (SELECT t.account = $2 OR EXISTS (
      SELECT FROM pool_members m WHERE m.pool_id = t.pool_id AND m.address = $2) AS readable) r
    WHERE t.tx_hash = $1
    ORDER BY NOT readable, t.log_index LIMIT 1`,
};
