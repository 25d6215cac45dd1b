import {
  APR,
  TOTALS as POOL_TOTALS,
  TOTAL_COLUMNS,
  accrued,
  compareColumns,
  counted,
  pending,
  sums,
} from './pools.sql';

/** Sums to which requests add. Each writer has separate rows. */
export interface Sums {
  table: string;
  /** The key of a sum, without its writer. */
  keys: readonly string[];
  /** Zero where there is no row. */
  columns: readonly string[];
  /** SQL: the sums according to the ledger, and the condition for the same sums in the table. */
  recount: string;
  of: string;
  /** SQL: the names of a sum in reports. */
  id: string;
  /** The column of the writer, and the function that names the current one. */
  writer: readonly [column: string, name: string];
}

const each = (columns: readonly string[], text: (column: string) => string): string =>
  columns.map(text).join(', ');
const bothSides = ({ table, keys, columns, recount, of }: Sums): string => `
  WITH recount AS (${recount}), kept AS (
    SELECT ${keys.join(', ')}, ${each(columns, (column) => `sum(${column}) AS ${column}`)}
    FROM ${table} WHERE ${of} GROUP BY ${keys.join(', ')}
  ), both_sides AS MATERIALIZED (
    SELECT ${keys.join(', ')}, ${each(columns, (column) => `coalesce(k.${column}, 0) AS kept_${column}, coalesce(r.${column}, 0) AS ${column}`)}
    FROM recount r FULL JOIN kept k USING (${keys.join(', ')})
  )`;

/** Row: id, column, kept, recount. */
export const compareSums = (all: Sums): string => `
  ${bothSides(all)}
  SELECT concat_ws(' ', ${all.id}) AS id, d.column_name AS "column", d.kept, d.recount
  FROM both_sides b CROSS JOIN LATERAL ${compareColumns(
    all.columns,
    (column) => `b.kept_${column}`,
    (column) => `b.${column}`,
  )} d ORDER BY 1`;

/** Adds what is missing. What was written since the comparison does not matter: it added to both sides. */
export const repairSums = (all: Sums): string => {
  const { table, keys, columns, writer } = all;
  return `
  ${bothSides(all)}
  INSERT INTO ${table} AS s (${keys.join(', ')}, ${writer[0]}, ${columns.join(', ')})
  SELECT ${keys.join(', ')}, ${writer[1]}(), ${each(columns, (column) => `${column} - kept_${column}`)}
  FROM both_sides WHERE (${columns.join(', ')}) <> (${each(columns, (column) => `kept_${column}`)})
  ORDER BY ${keys.join(', ')}
  ON CONFLICT ON CONSTRAINT ${table}_pkey DO UPDATE SET ${each(columns, (column) => `${column} = s.${column} + excluded.${column}`)}`;
};

const sum = (type: string): string => `coalesce(sum(amount) FILTER (WHERE type = '${type}'), 0)`;
const count = (type: string): string => `coalesce(sum(listed) FILTER (WHERE type = '${type}'), 0)`;
const writer = ['writer', 'writer'] as const;

/**
 * Days of addresses at contracts: the amounts that they paid, and the number of transactions that they list. These are all of their
 * own pools, and their own payments into pools where they are not a member.
 */
const DAYS: Sums = {
  table: 'account_days',
  keys: ['address', 'day', 'contract'],
  columns: ['deposited', 'pending', 'claimed', 'deposits', 'withdrawals', 'claims'],
  recount: `
    SELECT address, (created_at AT TIME ZONE 'UTC')::date AS day, contract, ${sum('DEPOSIT')} AS deposited,
      sum(pending) AS pending, ${sum('YIELD_CLAIM')} AS claimed, ${count('DEPOSIT')} AS deposits,
      ${count('WITHDRAWAL')} AS withdrawals, ${count('YIELD_CLAIM')} AS claims
    FROM (
      SELECT w.address, p.contract_address::text AS contract, t.created_at, t.type, ${counted('t')} AS amount, ${pending('t')} AS pending,
        (NOT EXISTS (SELECT FROM pool_members m WHERE m.pool_id = t.pool_id AND m.address = t.account))::int AS listed
      FROM unnest($1::text[]) AS w(address) JOIN transactions t ON t.account = w.address AND NOT t.by_owner
      JOIN pools p ON p.id = t.pool_id
      UNION ALL
      SELECT w.address, p.contract_address::text AS contract, t.created_at, t.type, CASE WHEN t.by_owner THEN ${counted('t')} ELSE 0 END,
        CASE WHEN t.by_owner THEN ${pending('t')} ELSE 0 END, 1
      FROM unnest($1::text[]) AS w(address) JOIN users u ON u.address = w.address JOIN transactions t ON t.owner_id = u.id
      JOIN pools p ON p.id = t.pool_id
    ) parts GROUP BY 1, 2, 3`,
  of: 'address = ANY($1::text[])',
  id: 'b.address, b.day, b.contract',
  writer,
};

/** What addresses own of each type at each contract, from the ledger of their pools. */
const OWNED: Sums = {
  table: 'owner_totals',
  keys: ['owner_id', 'type', 'contract'],
  columns: ['pools', 'active', 'yield', 'apr_bps'],
  recount: `
    SELECT u.id AS owner_id, p.type, p.contract_address::text AS contract, count(*) AS pools, count(*) FILTER (WHERE s.deposited > s.withdrawn) AS active,
      sum(y.total) AS yield, sum(${APR}) AS apr_bps
    FROM users u JOIN pools p ON p.owner_id = u.id CROSS JOIN LATERAL ${sums('true')} s
    CROSS JOIN LATERAL ${accrued('true')} y
    WHERE u.address = ANY($1::text[]) GROUP BY 1, 2, 3`,
  of: 'owner_id IN (SELECT u.id FROM users u WHERE u.address = ANY($1::text[]))',
  id: '(SELECT u.address FROM users u WHERE u.id = b.owner_id), b.type, b.contract',
  writer,
};

const TYPES = ['DEPOSIT', 'WITHDRAWAL', 'YIELD_CLAIM'];
/** What memberships add: a pool of its type, and the pool's transactions by type. */
const MEMBERSHIPS: Sums = {
  table: 'member_counts',
  keys: ['address', 'type'],
  columns: ['count'],
  recount: `
    SELECT m.address::text AS address, part.type, sum(part.count) AS count
    FROM pool_members m CROSS JOIN LATERAL (VALUES (m.type::text, 1::bigint), ${TYPES.map(
      (type) =>
        `('${type}', (SELECT count(*) FROM transactions x WHERE x.pool_id = m.pool_id AND x.type = '${type}'))`,
    ).join(', ')}) AS part(type, count)
    WHERE m.indexed AND m.role = 'MEMBER' AND m.address = ANY($1::text[]) GROUP BY 1, 2`,
  of: 'address = ANY($1::text[])',
  id: 'b.address, b.type',
  writer,
};

/** Parameter of their statements: addresses. */
export const OF_ADDRESSES = [DAYS, OWNED, MEMBERSHIPS];

/** Parameter: the floor of remembered pools. */
export const TOTALS: Sums = {
  table: 'pool_totals',
  keys: ['type', 'contract'],
  columns: TOTAL_COLUMNS,
  recount: POOL_TOTALS,
  of: 'true',
  id: 'b.type, b.contract',
  writer: ['shard', 'pool_totals_shard'],
};
