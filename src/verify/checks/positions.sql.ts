import type { Model } from './model-rows';

/** Positions and what their yield is computed from. Parameter: pool ids. */
export const POSITIONS = {
  tables: {
    pool_weights: {
      key: ['pool_id'],
      columns: ['total', 'weight_offset', 'accruals', 'last_time', 'last_per_unit'],
    },
    accrual_rates: { key: ['pool_id', 'number'], columns: ['time', 'per_weight', 'per_unit'] },
    positions: {
      key: ['pool_id', 'address'],
      columns: ['balance', 'weight_offset', 'owed', 'accruals', 'deposited', 'withdrawn', 'claimed'],
    },
  },
  of: 't.pool_id = ANY($1::uuid[])',
} satisfies Model<string>;

const FORMER: Record<string, string> = {
  weight_offset: 'offset',
  last_time: 'lastTime',
  last_per_unit: 'lastPerUnit',
};
const former = (table: 'pool_weights' | 'positions'): string =>
  `ARRAY[${POSITIONS.tables[table].columns.map((column) => `'${FORMER[column] ?? column}'`).join(', ')}]`;
/**
 * What the indexer keeps to take blocks back: rows as they were before a block, in the columns of their table. Parameter:
 * pool ids. Row: block, pool, address (empty: the pool's own row), whether there was a row, its values.
 */
export const JOURNAL = `
  SELECT j.block_number AS block, j.pool_id AS pool, j.address, CASE WHEN jsonb_typeof(j.former) = 'object' THEN ARRAY(
    SELECT j.former ->> c FROM unnest(CASE j.address WHEN '' THEN ${former('pool_weights')} ELSE ${former('positions')} END) c)
    END AS former
  FROM position_journal j WHERE j.pool_id = ANY($1::uuid[])`;
/** Rows that nothing reads: of pools that do not exist. */
export const JOURNAL_OF_NONE = `
  SELECT concat_ws(' ', j.block_number, j.pool_id, j.address) AS id, 'pool_id' AS "column", j.pool_id::text AS kept,
    NULL AS recount FROM position_journal j WHERE NOT EXISTS (SELECT FROM pools p WHERE p.id = j.pool_id)`;
/** Parameters: blocks, pools, addresses. */
export const FORGET_FORMER = `
  DELETE FROM position_journal j USING unnest($1::bigint[], $2::uuid[], $3::text[]) AS w(block, pool, address)
  WHERE j.block_number = w.block AND j.pool_id = w.pool AND j.address = w.address`;

/** Former rows are no good after a repair; without them the indexer goes back by replaying. Parameter: pool ids. */
export const CLEAR_JOURNAL = 'DELETE FROM position_journal WHERE pool_id = ANY($1::uuid[])';
/**
 * What counts for a contract of pools, in the order of the chain: the confirmed ledger, and events of the pool's own
 * contract that are set aside. Parameter: pool ids.
 */
export const OPEN_EVENTS = `
  DECLARE verified_events NO SCROLL CURSOR FOR
  SELECT pool, kind, account, amount::text, extract(epoch FROM time)::bigint::text AS time, block_number AS block,
    members
  FROM (
    SELECT t.pool_id AS pool, t.block_number, t.log_index, t.account, t.amount, t.confirmed_at AS time,
      CASE t.type WHEN 'DEPOSIT' THEN 'Deposited' WHEN 'WITHDRAWAL' THEN 'Withdrawn'
        WHEN 'YIELD_CLAIM' THEN 'YieldClaimed' END AS kind, NULL::text[] AS members
    FROM transactions t WHERE t.pool_id = ANY($1::uuid[]) AND t.status = 'CONFIRMED'
    UNION ALL
    SELECT y.pool_id, y.block_number, y.log_index, NULL, y.amount, y.accrued_at, 'YieldAccrued',
      NULL
    FROM yield_accruals y WHERE y.pool_id = ANY($1::uuid[])
    UNION ALL
    SELECT e.pool_id, e.block_number, e.log_index, e.account, e.amount, e.block_time,
      CASE WHEN e.kind IN ('Joined', 'Contributed') THEN 'Deposited'
        WHEN e.kind IN ('PaidOut', 'CircleRefunded') THEN 'Withdrawn' ELSE e.kind END, NULL
    FROM pools p JOIN chain_events e ON e.pool_id = p.id AND e.contract = p.contract_address
    WHERE p.id = ANY($1::uuid[]) AND e.outcome IN ('OVERDRAW', 'REFUSED', 'FAILED')
      AND (e.circle_id IS NULL AND (e.shares IS NULL OR e.amount > 0) OR e.kind <> 'RoundEnded' AND e.amount > 0 AND EXISTS (SELECT FROM chain_events o
        WHERE o.kind = 'CircleOpened' AND o.outcome = 'APPLIED' AND o.pool_id = p.id AND o.circle_id = e.circle_id))
    UNION ALL
    SELECT e.pool_id, e.block_number, e.log_index, e.account, e.amount, e.block_time, e.kind,
      (SELECT array_agg(n.account) FROM chain_events n WHERE n.contract = e.contract AND n.circle_id = e.circle_id
        AND n.kind = 'MemberNamed' AND n.outcome = 'APPLIED')
    FROM chain_events o JOIN chain_events e ON e.contract = o.contract AND e.circle_id = o.circle_id
    WHERE o.pool_id = ANY($1::uuid[]) AND o.kind = 'CircleOpened' AND o.outcome = 'APPLIED'
      AND e.kind = 'RoundEnded' AND e.outcome NOT IN ('WAITING', 'UNKNOWN_POOL')
  ) events ORDER BY pool, block_number, log_index`;
export const NEXT_EVENTS = 'FETCH 5000 FROM verified_events';
export const CLOSE_EVENTS = 'CLOSE verified_events';
