import { TRANSACTION_STATUSES, TRANSACTION_TYPES } from '#values/types';
import { NOT_INDEXED, indexedCount } from '#features/pools/pools.sql';

/** With the digit 0 before every id, with f after every id. */
export const uuidOf = (digit: string): string => `'${digit.repeat(32)}'::uuid`;

/** The sum of the counts of the wanted type. `:type` is that type, or null for all. */
export const total = (deposits: string, withdrawals: string, claims: string): string => `
  CASE WHEN :type IS NULL THEN ${deposits} + ${withdrawals} + ${claims}
    WHEN :type = 'DEPOSIT' THEN ${deposits} WHEN :type = 'WITHDRAWAL' THEN ${withdrawals}
    WHEN :type = 'YIELD_CLAIM' THEN ${claims} END`;

/**
 * The pools of the caller's memberships that are not indexed, which are few: with the count of their transactions of
 * the wanted type, and the newest of each type.
 */
export const MEMBERSHIPS = `
  memberships AS MATERIALIZED (
    SELECT p.id, ${total('p.deposit_count', 'p.withdrawal_count', 'p.claim_count')} AS count,
      p.last_deposit_id, p.last_withdrawal_id, p.last_claim_id
    FROM pool_members m JOIN LATERAL (SELECT * FROM pools WHERE id = m.pool_id OFFSET 0) p ON true
    WHERE ${NOT_INDEXED('m')}
  )`;

/** SQL: how many transactions of the wanted type there are in all pools that the caller is a member of. */
export const MEMBER_TOTAL = `
  ((SELECT coalesce(sum(count), 0) FROM memberships) + ${indexedCount(TRANSACTION_TYPES)})`;

/**
 * The transactions of one type in one pool are a stream. These are the streams of `memberships` with a wanted type.
 * The streams of indexed memberships have a status too; here are all that there may be, or none if the caller has no
 * such membership, which is usual.
 */
export const FEW_STREAMS = `
  memberships m CROSS JOIN LATERAL (VALUES ('DEPOSIT', m.last_deposit_id), ('WITHDRAWAL', m.last_withdrawal_id),
    ('YIELD_CLAIM', m.last_claim_id)) AS k(type, newest)`;
export const WANTED_TYPE = `(:type IS NULL OR k.type = :type)`;
export const KINDS = `
  (VALUES ${TRANSACTION_TYPES.flatMap((type) => TRANSACTION_STATUSES.map((status) => `('${type}', '${status}')`)).join()})
    AS k(type, status)`;
export const IS_INDEXED = `
  (SELECT EXISTS (SELECT FROM pool_members WHERE indexed AND role = 'MEMBER' AND address = :caller))`;

/**
 * A page and the pages before it have n rows together. So only n of the streams that the caller may read as a member
 * can have rows there: those whose newest row is newest. Of indexed memberships, no more than n of a kind are read.
 */
export const candidates = (n: string): string => `
  candidates AS MATERIALIZED (
    SELECT id, type, newest FROM (
      SELECT m.id, k.type, k.newest FROM ${FEW_STREAMS} WHERE k.newest IS NOT NULL AND ${WANTED_TYPE}
      UNION ALL
      SELECT s.pool_id, k.type, s.last_id FROM ${KINDS} CROSS JOIN LATERAL (
        SELECT pool_id, last_id FROM member_streams
        WHERE address = :caller AND type = k.type AND status = k.status ORDER BY last_id DESC LIMIT ${n}) s
      WHERE ${IS_INDEXED} AND ${WANTED_TYPE}
    ) streams ORDER BY newest DESC LIMIT ${n}
  )`;

/** The newest row of the n-th of these streams. Older rows of any of them cannot be on the page. */
export const oldest = (n: string): string => `
  oldest AS MATERIALIZED (
    SELECT coalesce((SELECT newest FROM candidates OFFSET greatest(${n} - 1, 0)), ${uuidOf('0')}) AS id
  )`;

/** SELECT of the ids of these streams that can be on the page or before it, some twice: of streams of two statuses. */
export const memberIds = (n: string): string => `
  SELECT t.id FROM candidates c CROSS JOIN LATERAL (
    SELECT id FROM transactions WHERE pool_id = c.id AND type = c.type AND id >= (SELECT id FROM oldest)
    ORDER BY id DESC LIMIT ${n}) t`;
