import { compareColumns, distinct } from './pools.sql';

const STATUSES = ['PENDING', 'CONFIRMED', 'EXPIRED'];
const TYPES = ['DEPOSIT', 'WITHDRAWAL', 'YIELD_CLAIM'];

const UNCONFIRMED = `status IN ('PENDING', 'EXPIRED')`;
/** The first and the newest transaction of each type and status of pool `w`; null if there is none. */
const STREAMS = TYPES.flatMap((type) =>
  STATUSES.map((status) => {
    const end = (order: string): string => `
      (SELECT x.id FROM transactions x WHERE x.pool_id = w.pool_id AND x.type = '${type}' AND x.status = '${status}'
       ${status === 'CONFIRMED' ? '' : `AND ${UNCONFIRMED}`} ORDER BY x.id ${order} LIMIT 1)`;
    return `('${type}', '${status}', ${end('ASC')}, ${end('DESC')})`;
  }),
).join();
const RECOUNT = `CROSS JOIN LATERAL (VALUES ${STREAMS}) AS k(type, status, first_id, last_id)`;
const COLUMNS = ['first_id', 'last_id'];
const ROWS = `
  recount AS (
    SELECT w.pool_id, w.address::text AS address, k.* FROM pool_members w ${RECOUNT}
    WHERE w.indexed AND w.role = 'MEMBER' AND w.address = ANY($1::text[]) AND k.last_id IS NOT NULL
  ), kept AS (
    SELECT * FROM member_streams WHERE address = ANY($1::text[])
  ), both_sides AS MATERIALIZED (
    SELECT pool_id, address, type, status,
      ${COLUMNS.map((column) => `k.${column} AS kept_${column}, r.${column}`).join(', ')}
    FROM recount r FULL JOIN kept k USING (pool_id, address, type, status)
  )`;

/** Row: id, pool, column, kept, recount. Parameter: addresses. */
export const COMPARE_STREAMS = `
  WITH ${ROWS}
  SELECT concat_ws(' ', b.address, b.pool_id, b.type, b.status) AS id, b.pool_id AS pool, d.column_name AS "column",
    d.kept, d.recount
  FROM both_sides b CROSS JOIN LATERAL ${compareColumns(
    COLUMNS,
    (column) => `b.kept_${column}`,
    (column) => `b.${column}`,
  )} d ORDER BY 1`;

/** These rows change only under the lock of their pool. Parameter: pool ids. */
export const DELETE_STREAMS = 'DELETE FROM member_streams WHERE pool_id = ANY($1::uuid[])';
export const MAKE_STREAMS = `
  INSERT INTO member_streams (pool_id, address, type, status, first_id, last_id)
  SELECT w.pool_id, w.address, k.* FROM pool_members w ${RECOUNT}
  WHERE w.indexed AND w.pool_id = ANY($1::uuid[]) AND k.last_id IS NOT NULL`;

/** What a membership has from its pool. Row: id, column, kept, recount. Parameter: pool ids. */
export const COMPARE_MEMBERS = `
  SELECT concat_ws(' ', m.pool_id, m.address) AS id, d.column_name AS "column", d.kept, d.recount
  FROM pools p JOIN users u ON u.id = p.owner_id JOIN pool_members m ON m.pool_id = p.id
  CROSS JOIN LATERAL ${compareColumns(
    ['type', 'role'],
    (column) => `m.${column}`,
    (column) =>
      column === 'type' ? 'p.type' : `CASE WHEN m.address = u.address THEN 'OWNER' ELSE 'MEMBER' END`,
  )} d WHERE p.id = ANY($1::uuid[])`;
/** Parameter: pool ids. */
export const REPAIR_TYPES = `
  UPDATE pool_members m SET type = p.type FROM pools p
  WHERE p.id = m.pool_id AND p.id = ANY($1::uuid[]) AND m.type <> p.type`;

/** Addresses that have days or counts of memberships, or should have, in order. Parameters: the address to go on after, limit. */
export const NEXT_ADDRESSES = `
  WITH RECURSIVE ${distinct('days', 'address', 'account_days')},
  ${distinct('payers', 'account', 'transactions', 'NOT by_owner')},
  ${distinct('members', 'address', 'pool_members', `indexed AND role = 'MEMBER'`)},
  ${distinct('counted', 'address', 'member_counts')},
  ${distinct('streams', 'address', 'member_streams')}
  SELECT key AS address FROM (
    (SELECT address AS key FROM users WHERE address > $1 ORDER BY address LIMIT $2)
    UNION (SELECT key FROM days LIMIT $2)
    UNION (SELECT key FROM payers LIMIT $2)
    UNION (SELECT key FROM members LIMIT $2)
    UNION (SELECT key FROM counted LIMIT $2)
    UNION (SELECT key FROM streams LIMIT $2)
  ) found WHERE key IS NOT NULL ORDER BY key LIMIT $2`;
