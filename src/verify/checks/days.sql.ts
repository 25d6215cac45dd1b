import { compareColumns, counted, pending } from './pools.sql';

/** Sums and counts of account_days. */
const DAY_COLUMNS = ['deposited', 'pending', 'claimed', 'deposits', 'withdrawals', 'claims'] as const;

const sum = (type: string): string => `coalesce(sum(amount) FILTER (WHERE type = '${type}'), 0)`;
const count = (type: string): string => `coalesce(sum(listed) FILTER (WHERE type = '${type}'), 0)`;

/**
 * Days of addresses at contracts: the amounts that they paid, and the number of transactions that they list. These are all of their
 * own pools, and their own payments into pools where they are not a member. Parameter 1: addresses.
 */
const DAYS = `
  WITH wanted AS (SELECT unnest($1::text[]) AS address),
  parts AS (
    SELECT w.address, p.contract_address::text AS contract, t.created_at, t.type, ${counted('t')} AS amount, ${pending('t')} AS pending,
      (NOT EXISTS (SELECT FROM pool_members m WHERE m.pool_id = t.pool_id AND m.address = t.account))::int AS listed
    FROM wanted w JOIN transactions t ON t.account = w.address AND NOT t.by_owner JOIN pools p ON p.id = t.pool_id
    UNION ALL
    SELECT w.address, p.contract_address::text AS contract, t.created_at, t.type, CASE WHEN t.by_owner THEN ${counted('t')} ELSE 0 END,
      CASE WHEN t.by_owner THEN ${pending('t')} ELSE 0 END, 1
    FROM wanted w JOIN users u ON u.address = w.address JOIN transactions t ON t.owner_id = u.id
    JOIN pools p ON p.id = t.pool_id
  ), recount AS (
    SELECT address, (created_at AT TIME ZONE 'UTC')::date AS day, contract, count(*) AS rows, ${sum('DEPOSIT')} AS deposited,
      sum(pending) AS pending, ${sum('YIELD_CLAIM')} AS claimed, ${count('DEPOSIT')} AS deposits,
      ${count('WITHDRAWAL')} AS withdrawals, ${count('YIELD_CLAIM')} AS claims
    FROM parts GROUP BY 1, 2, 3
  ), kept AS (
    SELECT address, day, contract, ${DAY_COLUMNS.map((column) => `sum(${column}) AS ${column}`).join(', ')}
    FROM account_days WHERE address = ANY($1::text[]) GROUP BY 1, 2, 3
  ), both_sides AS MATERIALIZED (
    SELECT address, day, contract, coalesce(r.rows, 0) AS rows, ${DAY_COLUMNS.map(
      (column) => `coalesce(k.${column}, 0) AS kept_${column}, coalesce(r.${column}, 0) AS ${column}`,
    ).join(', ')}
    FROM recount r FULL JOIN kept k USING (address, day, contract)
  )`;

/** Row: number of ledger rows counted, differences. Parameter: addresses. */
export const COMPARE_DAYS = `
  ${DAYS}
  SELECT (SELECT coalesce(sum(rows), 0)::float8 FROM both_sides) AS rows, coalesce((
    SELECT json_agg(json_build_object('id', concat_ws(' ', b.address, b.day, b.contract), 'address', b.address,
      'column', d.column_name, 'kept', d.kept, 'recount', d.recount) ORDER BY b.address, b.day, b.contract)
    FROM both_sides b CROSS JOIN LATERAL ${compareColumns(
      DAY_COLUMNS,
      (column) => `b.kept_${column}`,
      (column) => `b.${column}`,
    )} d), '[]') AS differences`;

/**
 * Adds what is missing to the days. Payments that came since the comparison do not matter: they added to both sides.
 * Parameter: addresses.
 */
export const REPAIR_DAYS = `
  ${DAYS}
  INSERT INTO account_days AS a (address, day, contract, writer, ${DAY_COLUMNS.join(', ')})
  SELECT address, day, contract, writer(), ${DAY_COLUMNS.map((column) => `${column} - kept_${column}`).join(', ')}
  FROM both_sides WHERE (${DAY_COLUMNS.join(', ')}) <> (${DAY_COLUMNS.map((column) => `kept_${column}`).join(', ')})
  ORDER BY address, day, contract
  ON CONFLICT ON CONSTRAINT account_days_pkey DO UPDATE SET
    ${DAY_COLUMNS.map((column) => `${column} = a.${column} + excluded.${column}`).join(', ')}`;

/** Distinct values in index order. Each takes one index lookup, however many rows have it. */
const distinct = (name: string, column: string, table: string, condition: string): string => `
  ${name} AS (
    (SELECT ${column} AS address FROM ${table} WHERE ${condition} AND ${column} > $1 ORDER BY ${column} LIMIT 1)
    UNION ALL
    SELECT (SELECT ${column} FROM ${table} WHERE ${condition} AND ${column} > e.address ORDER BY ${column} LIMIT 1)
    FROM ${name} e WHERE e.address IS NOT NULL
  )`;

/** Addresses that have days or counts of memberships, or should have, in order. Parameters: the address to go on after, limit. */
export const NEXT_ADDRESSES = `
  WITH RECURSIVE ${distinct('days', 'address', 'account_days', 'true')},
  ${distinct('payers', 'account', 'transactions', 'NOT by_owner')},
  ${distinct('members', 'address', 'pool_members', `indexed AND role = 'MEMBER'`)},
  ${distinct('counted', 'address', 'member_counts', 'true')},
  ${distinct('streams', 'address', 'member_streams', 'true')}
  SELECT address FROM (
    (SELECT address FROM users WHERE address > $1 ORDER BY address LIMIT $2)
    UNION (SELECT address FROM days LIMIT $2)
    UNION (SELECT address FROM payers LIMIT $2)
    UNION (SELECT address FROM members LIMIT $2)
    UNION (SELECT address FROM counted LIMIT $2)
    UNION (SELECT address FROM streams LIMIT $2)
  ) found WHERE address IS NOT NULL ORDER BY address LIMIT $2`;
