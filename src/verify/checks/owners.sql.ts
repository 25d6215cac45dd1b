import { APR, accrued, sums } from './pools.sql';
import { compareColumns } from './sql';

/** Sums and counts of owner_totals. */
const OWNER_COLUMNS = ['pools', 'active', 'yield', 'apr_bps'] as const;

/** What addresses own of each type, from the ledger of their pools. Parameter 1: addresses. */
const OWNED = `
  WITH recount AS (
    SELECT u.id AS owner_id, p.type, count(*) AS pools, count(*) FILTER (WHERE s.deposited > s.withdrawn) AS active,
      sum(y.total) AS yield, sum(${APR}) AS apr_bps
    FROM users u JOIN pools p ON p.owner_id = u.id CROSS JOIN LATERAL ${sums('true')} s
    CROSS JOIN LATERAL ${accrued('true')} y
    WHERE u.address = ANY($1::text[]) GROUP BY 1, 2
  ), kept AS (
    SELECT owner_id, type, ${OWNER_COLUMNS.map((column) => `sum(${column}) AS ${column}`).join(', ')}
    FROM users u JOIN owner_totals t ON t.owner_id = u.id WHERE u.address = ANY($1::text[]) GROUP BY 1, 2
  ), both_sides AS MATERIALIZED (
    SELECT owner_id, type, ${OWNER_COLUMNS.map(
      (column) => `coalesce(k.${column}, 0) AS kept_${column}, coalesce(r.${column}, 0) AS ${column}`,
    ).join(', ')}
    FROM recount r FULL JOIN kept k USING (owner_id, type)
  )`;

/** Row: id, address, column, kept, recount. Parameter: addresses. */
export const COMPARE_OWNED = `
  ${OWNED}
  SELECT concat_ws(' ', u.address, b.type) AS id, u.address, d.column_name AS "column", d.kept, d.recount
  FROM both_sides b JOIN users u ON u.id = b.owner_id CROSS JOIN LATERAL ${compareColumns(
    OWNER_COLUMNS,
    (column) => `b.kept_${column}`,
    (column) => `b.${column}`,
  )} d ORDER BY u.address, b.type`;

/** Adds what is missing. Changes that came since the comparison do not matter: they added to both sides. */
export const REPAIR_OWNED = `
  ${OWNED}
  INSERT INTO owner_totals AS t (owner_id, type, writer, ${OWNER_COLUMNS.join(', ')})
  SELECT owner_id, type, writer(), ${OWNER_COLUMNS.map((column) => `${column} - kept_${column}`).join(', ')}
  FROM both_sides WHERE (${OWNER_COLUMNS.join(', ')}) <> (${OWNER_COLUMNS.map((column) => `kept_${column}`).join(', ')})
  ORDER BY owner_id, type
  ON CONFLICT ON CONSTRAINT owner_totals_pkey DO UPDATE SET
    ${OWNER_COLUMNS.map((column) => `${column} = t.${column} + excluded.${column}`).join(', ')}`;
