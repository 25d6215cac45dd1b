import { APR, accrued, compareColumns, sums } from './pools.sql';

/** Parameter 1: addresses. Which memberships are indexed is not derived; what is kept of them is. */
const WANTED = `
  wanted AS (
    SELECT m.pool_id, m.address::text AS address, m.type::text AS type
    FROM pool_members m WHERE m.indexed AND m.role = 'MEMBER' AND m.address = ANY($1::text[])
  )`;

const STATUSES = ['PENDING', 'CONFIRMED', 'EXPIRED'];
const TYPES = ['DEPOSIT', 'WITHDRAWAL', 'YIELD_CLAIM'];

/** What a membership adds to the counts: a pool of its type, and the pool's transactions by type. */
const PARTS = `
  (VALUES (w.type, 1::bigint), ${TYPES.map(
    (type) =>
      `('${type}', (SELECT count(*) FROM transactions x WHERE x.pool_id = w.pool_id AND x.type = '${type}'))`,
  ).join(', ')}) AS part(type, count)`;
const COUNTS = `
  ${WANTED}, recount AS (
    SELECT w.address, part.type, sum(part.count) AS count
    FROM wanted w CROSS JOIN LATERAL ${PARTS} GROUP BY 1, 2
  ), kept AS (
    SELECT address, type, sum(count) AS count FROM member_counts WHERE address = ANY($1::text[]) GROUP BY 1, 2
  ), both_sides AS MATERIALIZED (
    SELECT address, type, coalesce(k.count, 0) AS kept, coalesce(r.count, 0) AS recount
    FROM recount r FULL JOIN kept k USING (address, type)
  )`;

/** Row: id, address, column, kept, recount. Parameter: addresses. */
export const COMPARE_COUNTS = `
  WITH ${COUNTS}
  SELECT b.address || ' ' || b.type AS id, b.address, d.column_name AS "column", d.kept, d.recount
  FROM both_sides b CROSS JOIN LATERAL ${compareColumns(
    ['count'],
    () => 'b.kept',
    () => 'b.recount',
  )} d ORDER BY 1`;

/** Adds what is missing. Payments that came since the comparison added to both sides. */
export const REPAIR_COUNTS = `
  WITH ${COUNTS}
  INSERT INTO member_counts AS c (address, type, writer, count)
  SELECT address, type, writer(), recount - kept FROM both_sides WHERE recount <> kept ORDER BY address, type
  ON CONFLICT ON CONSTRAINT member_counts_pkey DO UPDATE SET count = c.count + excluded.count`;

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
  ${WANTED}, recount AS (
    SELECT w.pool_id, w.address, k.* FROM wanted w ${RECOUNT} WHERE k.last_id IS NOT NULL
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

/** Sums and counts of owner_totals. */
const OWNER_COLUMNS = ['pools', 'active', 'yield', 'apr_bps'] as const;

/** What addresses own of each type at each contract, from the ledger of their pools. Parameter 1: addresses. */
const OWNED = `
  WITH recount AS (
    SELECT u.id AS owner_id, p.type, p.contract_address::text AS contract, count(*) AS pools, count(*) FILTER (WHERE s.deposited > s.withdrawn) AS active,
      sum(y.total) AS yield, sum(${APR}) AS apr_bps
    FROM users u JOIN pools p ON p.owner_id = u.id CROSS JOIN LATERAL ${sums('true')} s
    CROSS JOIN LATERAL ${accrued('true')} y
    WHERE u.address = ANY($1::text[]) GROUP BY 1, 2, 3
  ), kept AS (
    SELECT owner_id, type, contract, ${OWNER_COLUMNS.map((column) => `sum(${column}) AS ${column}`).join(', ')}
    FROM users u JOIN owner_totals t ON t.owner_id = u.id WHERE u.address = ANY($1::text[]) GROUP BY 1, 2, 3
  ), both_sides AS MATERIALIZED (
    SELECT owner_id, type, contract, ${OWNER_COLUMNS.map(
      (column) => `coalesce(k.${column}, 0) AS kept_${column}, coalesce(r.${column}, 0) AS ${column}`,
    ).join(', ')}
    FROM recount r FULL JOIN kept k USING (owner_id, type, contract)
  )`;

/** Row: id, address, column, kept, recount. Parameter: addresses. */
export const COMPARE_OWNED = `
  ${OWNED}
  SELECT concat_ws(' ', u.address, b.type, b.contract) AS id, u.address, d.column_name AS "column", d.kept, d.recount
  FROM both_sides b JOIN users u ON u.id = b.owner_id CROSS JOIN LATERAL ${compareColumns(
    OWNER_COLUMNS,
    (column) => `b.kept_${column}`,
    (column) => `b.${column}`,
  )} d ORDER BY u.address, b.type, b.contract`;

/** Adds what is missing. Changes that came since the comparison do not matter: they added to both sides. */
export const REPAIR_OWNED = `
  ${OWNED}
  INSERT INTO owner_totals AS t (owner_id, type, contract, writer, ${OWNER_COLUMNS.join(', ')})
  SELECT owner_id, type, contract, writer(), ${OWNER_COLUMNS.map((column) => `${column} - kept_${column}`).join(', ')}
  FROM both_sides WHERE (${OWNER_COLUMNS.join(', ')}) <> (${OWNER_COLUMNS.map((column) => `kept_${column}`).join(', ')})
  ORDER BY owner_id, type, contract
  ON CONFLICT ON CONSTRAINT owner_totals_pkey DO UPDATE SET
    ${OWNER_COLUMNS.map((column) => `${column} = t.${column} + excluded.${column}`).join(', ')}`;

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
