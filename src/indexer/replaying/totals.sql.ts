/** Recounts of what the triggers keep: of the pools, and of the sums over many of them. */

const COUNTED = `CASE t.status WHEN 'EXPIRED' THEN 0 ELSE t.amount END`;
const PENDING = `CASE WHEN t.status = 'PENDING' AND t.type = 'DEPOSIT' THEN t.amount ELSE 0 END`;
const only = (type: string): string => `FILTER (WHERE t.type = '${type}')`;
const newest = (type: string): string => `(max(t.id::text COLLATE "C") ${only(type)})::uuid`;

const FROM_ROWS = {
  balance: `coalesce(sum(${COUNTED}) ${only('DEPOSIT')}, 0) - coalesce(sum(${COUNTED}) ${only('WITHDRAWAL')}, 0)`,
  pending_balance: `sum(${PENDING})`,
  claimed_yield: `sum(${COUNTED}) ${only('YIELD_CLAIM')}`,
  deposit_count: `count(*) ${only('DEPOSIT')}`,
  withdrawal_count: `count(*) ${only('WITHDRAWAL')}`,
  claim_count: `count(*) ${only('YIELD_CLAIM')}`,
  last_deposit_id: newest('DEPOSIT'),
  last_withdrawal_id: newest('WITHDRAWAL'),
  last_claim_id: newest('YIELD_CLAIM'),
  last_claimed_at: `max(t.created_at) ${only('YIELD_CLAIM')}`,
};
const columns = (from: Record<string, string>, prefix = ''): string[] =>
  Object.keys(from).map((column) => prefix + column);
const orZero = (column: string): string =>
  column.startsWith('last_') ? `r.${column}` : `coalesce(r.${column}, 0) AS ${column}`;
const POOL_COLUMNS = [...columns(FROM_ROWS), 'total_yield', 'apr_bps', 'member_count'];

/** @param where with the pools as `x.pool_id`, for each of the three tables */
const recount = (where = ''): string => `
  SELECT p.id, ${columns(FROM_ROWS).map(orZero).join(', ')}, coalesce(y.amount, 0) AS total_yield,
    coalesce(y.apr_bps, 0) AS apr_bps, coalesce(m.count, 0) AS member_count
  FROM pools p
  LEFT JOIN (
    SELECT t.pool_id, ${Object.entries(FROM_ROWS)
      .map(([column, value]) => `${value} AS ${column}`)
      .join(', ')}
    FROM transactions t ${where.replaceAll('x.', 't.')} GROUP BY 1) r ON r.pool_id = p.id
  LEFT JOIN (
    SELECT y.pool_id, sum(y.amount) AS amount,
      (array_agg(y.apr_bps ORDER BY y.block_number DESC, y.log_index DESC))[1] AS apr_bps
    FROM yield_accruals y ${where.replaceAll('x.', 'y.')} GROUP BY 1) y ON y.pool_id = p.id
  LEFT JOIN (
    SELECT m.pool_id, count(*) AS count FROM pool_members m
    WHERE m.role = 'MEMBER' ${where.replace('WHERE', 'AND').replaceAll('x.', 'm.')} GROUP BY 1) m ON m.pool_id = p.id
  ${where.replaceAll('x.pool_id', 'p.id')}`;
const OF_POOLS = recount('WHERE x.pool_id = ANY($1::uuid[])');
const row = (alias: string): string => `(${POOL_COLUMNS.map((column) => `${alias}.${column}`).join(', ')})`;

/** Sorted: pools that are not what their ledger says. */
export const WRONG_POOLS = `
  SELECT p.id::text FROM pools p JOIN (${recount()}) r ON r.id = p.id
  WHERE ${row('p')} IS DISTINCT FROM ${row('r')} ORDER BY p.id`;

/** In a table of the transaction: which pools have a balance by the ledger as it stands. Parameter: pool ids. */
export const REMEMBER_ACTIVE = `
  CREATE TEMP TABLE replayed_active ON COMMIT DROP AS SELECT id, balance > 0 AS active FROM (${OF_POOLS}) r`;
/** No sum falls below zero while rows are taken back. SET_POOLS has to follow. Parameter: pool ids. */
export const RAISE_POOLS = `
  UPDATE pools SET balance = balance + 1e100, claimed_yield = claimed_yield + 1e100, total_yield = total_yield + 1e100
  WHERE id = ANY($1::uuid[])`;
/** Pools that are right are not touched. Parameter: pool ids. */
export const SET_POOLS = `
  WITH changed AS (
    UPDATE pools p SET ${POOL_COLUMNS.map((column) => `${column} = r.${column}`).join(', ')},
      last_update = changed_at(p.last_update)
    FROM (${OF_POOLS}) r JOIN replayed_active a USING (id)
    WHERE p.id = r.id AND ${row('p')} IS DISTINCT FROM ${row('r')}
    RETURNING p.owner_id, p.type, p.contract_address AS contract, (p.balance > 0)::int - a.active::int AS active
  )
  INSERT INTO owner_totals AS o (owner_id, type, contract, writer, active)
  SELECT owner_id, type, contract, 0, sum(active) FROM changed GROUP BY 1, 2, 3 HAVING sum(active) <> 0 ORDER BY 1, 2, 3
  ON CONFLICT ON CONSTRAINT owner_totals_pkey DO UPDATE SET active = o.active + excluded.active`;

const STREAMS = `
  SELECT t.pool_id, t.type::text AS type, t.status::text AS status, min(t.id::text COLLATE "C")::uuid AS first_id,
    max(t.id::text COLLATE "C")::uuid AS last_id
  FROM transactions t WHERE EXISTS (SELECT FROM pool_members i WHERE i.pool_id = t.pool_id AND i.indexed)
  GROUP BY 1, 2, 3`;
/** Sorted: pools with indexed members to whom the wrong transactions are listed. */
export const WRONG_STREAMS = `
  SELECT wrong.pool_id::text FROM (SELECT DISTINCT pool_id FROM (
    SELECT m.pool_id, m.address::text AS address, n.type, n.status, n.first_id, n.last_id
    FROM (${STREAMS}) n JOIN pool_members m ON m.pool_id = n.pool_id AND m.indexed
  ) n FULL JOIN member_streams s USING (pool_id, address, type, status)
  WHERE (n.first_id, n.last_id) IS DISTINCT FROM (s.first_id, s.last_id)
  ) wrong ORDER BY wrong.pool_id`;
/** Parameter: pool ids. */
export const SET_STREAMS = [
  `DELETE FROM member_streams s WHERE s.pool_id = ANY($1::uuid[]) AND NOT EXISTS (
     SELECT FROM pool_members m WHERE m.pool_id = s.pool_id AND m.address = s.address AND m.indexed)`,
  'SELECT refresh_streams($1::uuid[])',
];

interface Sums {
  table: string;
  keys: string[];
  /** SELECT of the keys and columns, as they should be in sum. */
  recount: string;
  columns: string[];
  /** The row to which the indexer adds: column and value. */
  share: [column: string, value: number];
}

const day = `(t.created_at AT TIME ZONE 'UTC')::date`;
const SUMS: Sums[] = [
  {
    table: 'account_days',
    keys: ['address', 'day', 'contract'],
    columns: ['deposited', 'pending', 'claimed', 'deposits', 'withdrawals', 'claims'],
    share: ['writer', 0],
    recount: `
      SELECT address, day, p.contract_address::text AS contract, coalesce(sum(amount) ${only('DEPOSIT')}, 0) AS deposited, sum(pending) AS pending,
        coalesce(sum(amount) ${only('YIELD_CLAIM')}, 0) AS claimed, coalesce(sum(listed) ${only('DEPOSIT')}, 0) AS deposits,
        coalesce(sum(listed) ${only('WITHDRAWAL')}, 0) AS withdrawals, coalesce(sum(listed) ${only('YIELD_CLAIM')}, 0) AS claims
      FROM (
        SELECT t.account::text AS address, ${day} AS day, t.pool_id, t.type, ${COUNTED} AS amount, ${PENDING} AS pending,
          (m.pool_id IS NULL)::int AS listed
        FROM transactions t
        LEFT JOIN pool_members m ON NOT t.by_owner AND m.pool_id = t.pool_id AND m.address = t.account
        UNION ALL
        SELECT u.address, ${day}, t.pool_id, t.type, 0, 0, 1
        FROM transactions t JOIN users u ON u.id = t.owner_id WHERE NOT t.by_owner
      ) t JOIN pools p ON p.id = t.pool_id GROUP BY 1, 2, 3`,
  },
  {
    table: 'owner_totals',
    keys: ['owner_id', 'type', 'contract'],
    columns: ['pools', 'active', 'yield', 'apr_bps'],
    share: ['writer', 0],
    recount: `
      SELECT owner_id, type::text AS type, contract_address::text AS contract, count(*) AS pools, count(*) FILTER (WHERE balance > 0) AS active,
        sum(total_yield) AS yield, sum(apr_bps) AS apr_bps
      FROM pools GROUP BY 1, 2, 3`,
  },
  {
    table: 'pool_totals',
    keys: ['type', 'contract'],
    columns: ['pools', 'deposited', 'pending', 'yield', 'apr_bps'],
    share: ['shard', 0],
    recount: `
      SELECT p.type::text AS type, p.contract_address::text AS contract, count(*) AS pools, coalesce(sum(t.deposited), 0) AS deposited,
        sum(p.pending_balance) AS pending, sum(p.total_yield) AS yield, sum(p.apr_bps) AS apr_bps
      FROM pools p LEFT JOIN (
        SELECT t.pool_id, sum(${COUNTED}) AS deposited FROM transactions t WHERE t.type = 'DEPOSIT' GROUP BY 1
      ) t ON t.pool_id = p.id GROUP BY 1, 2`,
  },
  {
    table: 'member_counts',
    keys: ['address', 'type'],
    columns: ['count'],
    share: ['writer', 0],
    recount: `
      SELECT m.address::text AS address, k.type, sum(k.count) AS count
      FROM pool_members m JOIN pools p ON p.id = m.pool_id
      CROSS JOIN LATERAL (VALUES (p.type::text, 1), ('DEPOSIT', p.deposit_count), ('WITHDRAWAL', p.withdrawal_count),
        ('YIELD_CLAIM', p.claim_count)) AS k(type, count)
      WHERE m.indexed GROUP BY 1, 2`,
  },
];

/**
 * SQL: what each sum lacks. Requests change the ledger and its sums in one transaction, so the difference between them is
 * the same in every snapshot, whoever writes meanwhile, and may be added without a lock on the ledger.
 */
const lacking = ({ table, keys, columns: sums, recount: counted }: Sums): string => `
  SELECT ${keys.join(', ')}, ${sums
    .map((sum) => `coalesce(n.${sum}, 0) - coalesce(k.${sum}, 0) AS ${sum}`)
    .join(', ')}
  FROM (${counted}) n FULL JOIN (
    SELECT ${keys.join(', ')}, ${sums.map((sum) => `sum(${sum}) AS ${sum}`).join(', ')} FROM ${table} GROUP BY ${keys.join(', ')}
  ) k USING (${keys.join(', ')})
  WHERE ${sums.map((sum) => `coalesce(n.${sum}, 0) <> coalesce(k.${sum}, 0)`).join(' OR ')}`;

/** `count`: the number of sums that differ. `add`: corrects them, in the order in which all writers lock them. */
export const TOTALS = SUMS.map((each) => {
  const { table, keys, columns: sums, share } = each;
  const rows = [...keys, ...sums].join(', ');
  return {
    table,
    count: `SELECT count(*)::int AS count FROM (${lacking(each)}) d`,
    add: `
      INSERT INTO ${table} AS s (${share[0]}, ${rows}) SELECT ${share[1]}, ${rows} FROM (${lacking(each)}) d
      ORDER BY ${keys.join(', ')}
      ON CONFLICT ON CONSTRAINT ${table}_pkey DO UPDATE SET ${sums
        .map((sum) => `${sum} = s.${sum} + excluded.${sum}`)
        .join(', ')}`,
  };
});

const SET_ASIDE = `
  SELECT outcome, count(*) AS count FROM chain_events WHERE outcome NOT IN ('WAITING', 'APPLIED') GROUP BY outcome`;
const WINNERS = `(SELECT count(*) FROM lottery_draws WHERE status = 'COMPLETED')`;
/** Counts of the indexer, under its cursor. Each changes only rows that are wrong. */
export const COUNTS = {
  set_aside_counts: `
    INSERT INTO set_aside_counts AS c (outcome, count)
    SELECT outcome, coalesce(n.count, 0) FROM (${SET_ASIDE}) n FULL JOIN set_aside_counts k USING (outcome)
    WHERE coalesce(n.count, 0) <> coalesce(k.count, 0)
    ON CONFLICT ON CONSTRAINT set_aside_counts_pkey DO UPDATE SET count = excluded.count`,
  lottery_totals: `
    INSERT INTO lottery_totals AS l (winners) SELECT ${WINNERS}
    ON CONFLICT ON CONSTRAINT lottery_totals_pkey DO UPDATE SET winners = excluded.winners
    WHERE l.winners <> excluded.winners`,
};
