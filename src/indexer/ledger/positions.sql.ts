import { MOVEMENTS } from '#indexer/reading/money';
import { POSITION_KINDS } from './positions';

/** The statements that store positions and the data for computing their yield. Ids are given as 32 hex digits. */

/** SQL: the event's kind, by the type of transaction `t`. */
const KIND = `CASE t.type ${Object.entries(MOVEMENTS)
  .map(([kind, type]) => (type ? `WHEN '${type}' THEN '${kind}'` : ''))
  .join(' ')} END`;

const compact = (column: string): string => `replace(${column}::text, '-', '')`;

const CHANGING = POSITION_KINDS.map((kind) => `'${kind}'`).join(', ');
/** SQL: whether event `e` counts: if it is of a circle, that is its pool's, and it moves something, as one of shares. */
const OF_ITS_CIRCLE = `(e.circle_id IS NULL AND (e.shares IS NULL OR e.amount > 0) OR e.amount > 0 AND EXISTS (SELECT FROM circles c
        WHERE c.contract = e.contract AND c.circle_id = e.circle_id AND c.pool_id = e.pool_id))`;

/** Parameter: pool ids. */
export const LOAD_WEIGHTS = {
  name: 'load_weights',
  text: `
    SELECT ${compact('pool_id')} AS pool, total, weight_offset AS offset, accruals, last_time AS "lastTime",
      last_per_unit AS "lastPerUnit"
    FROM pool_weights WHERE pool_id = ANY($1::uuid[])`,
};

/**
 * Each with the first accrual that it has not taken part in. Parameters: pool ids, addresses. It has no name, so it is
 * planned each time: a plan that was made while the table was small would scan it for each batch.
 */
export const LOAD_POSITIONS = {
  text: `
    SELECT ${compact('p.pool_id')} AS pool, p.address, p.balance, p.weight_offset AS offset, p.owed, p.accruals,
      p.deposited, p.withdrawn, p.claimed, a.time AS "firstTime", a.per_weight AS "firstPerWeight",
      a.per_unit AS "firstPerUnit"
    FROM unnest($1::uuid[], $2::text[]) AS w(pool_id, address)
    JOIN positions p ON p.pool_id = w.pool_id AND p.address = w.address
    LEFT JOIN accrual_rates a ON a.pool_id = p.pool_id AND a.number = p.accruals + 1`,
};

/**
 * All parameters are arrays. Pools: id, total, offset, accruals, time and rate of the last accrual. Accruals: pool,
 * number, time and the two rates. Positions: pool, address and the seven numbers.
 * MERGE would save 3 % of the time, but its cached plan may scan the table for each batch once the table has grown.
 */
export const SAVE_POSITIONS = {
  name: 'save_positions',
  text: `
    WITH weights AS (
      INSERT INTO pool_weights (pool_id, total, weight_offset, accruals, last_time, last_per_unit)
      SELECT * FROM unnest($1::uuid[], $2::numeric[], $3::numeric[], $4::int[], $5::bigint[], $6::numeric[])
      ON CONFLICT ON CONSTRAINT pool_weights_pkey DO UPDATE SET total = excluded.total,
        weight_offset = excluded.weight_offset, accruals = excluded.accruals, last_time = excluded.last_time,
        last_per_unit = excluded.last_per_unit
    ), rates AS (
      INSERT INTO accrual_rates (pool_id, number, time, per_weight, per_unit)
      SELECT * FROM unnest($7::uuid[], $8::int[], $9::bigint[], $10::numeric[], $11::numeric[])
    )
    INSERT INTO positions (pool_id, address, balance, weight_offset, owed, accruals, deposited, withdrawn, claimed)
    SELECT * FROM unnest($12::uuid[], $13::text[], $14::numeric[], $15::numeric[], $16::numeric[], $17::int[],
      $18::numeric[], $19::numeric[], $20::numeric[])
    ON CONFLICT ON CONSTRAINT positions_pkey DO UPDATE SET balance = excluded.balance,
      weight_offset = excluded.weight_offset, owed = excluded.owed, accruals = excluded.accruals,
      deposited = excluded.deposited, withdrawn = excluded.withdrawn, claimed = excluded.claimed`,
};

/**
 * Stores rows as they were before a block, and drops those that no reorganisation needs any more. Parameters: blocks,
 * pools, addresses ('' for the pool's own row), rows as JSON or null if there was none; block up to which to drop.
 */
export const KEEP_FORMER = `
  WITH dropped AS (DELETE FROM position_journal WHERE block_number <= $5)
  INSERT INTO position_journal (block_number, pool_id, address, former)
  SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::text[], $4::jsonb[]) ON CONFLICT DO NOTHING`;

/**
 * Restores the rows of pools that lose events after block $1, and of their accounts, to those before the first undone event.
 * Parameter 2: the contract whose events alone are undone, or null. Rows: pools that stay as they are, because the journal
 * lacks rows of them.
 */
export const RESTORE_FORMER = `
  WITH gone AS MATERIALIZED (
    SELECT e.pool_id, e.account AS address, e.kind, e.contract, e.circle_id, min(e.block_number) AS block_number
    FROM chain_events e JOIN pools p ON p.id = e.pool_id AND p.contract_address = e.contract
    WHERE e.block_number > $1 AND e.contract = coalesce($2::text, e.contract) AND e.outcome NOT IN ('WAITING', 'UNKNOWN_POOL')
      AND e.kind IN (${CHANGING}) AND ${OF_ITS_CIRCLE} GROUP BY 1, 2, 3, 4, 5
  ), touched AS (
    SELECT pool_id, '' AS address, min(block_number) AS block_number FROM gone GROUP BY 1
    UNION ALL
    SELECT pool_id, address, min(block_number) FROM (
      SELECT pool_id, address, block_number FROM gone WHERE address IS NOT NULL
      UNION ALL
      SELECT g.pool_id, m.account, g.block_number
      FROM gone g JOIN circle_members m USING (contract, circle_id) WHERE g.kind = 'RoundEnded'
    ) each GROUP BY 1, 2
  ), found AS MATERIALIZED (
    SELECT t.pool_id, t.address, j.former,
      bool_and(j.pool_id IS NOT NULL) OVER (PARTITION BY t.pool_id) AS is_known
    FROM touched t LEFT JOIN position_journal j
      ON j.block_number = t.block_number AND j.pool_id = t.pool_id AND j.address = t.address
  ), f AS MATERIALIZED (
    SELECT * FROM found WHERE is_known
  ), rates AS (
    DELETE FROM accrual_rates r USING f
    WHERE f.address = '' AND r.pool_id = f.pool_id AND r.number > coalesce((f.former ->> 'accruals')::int, 0)
  ), no_weights AS (
    DELETE FROM pool_weights w USING f WHERE f.address = '' AND f.former IS NULL AND w.pool_id = f.pool_id
  ), weights AS (
    UPDATE pool_weights w SET total = (f.former ->> 'total')::numeric, weight_offset = (f.former ->> 'offset')::numeric,
      accruals = (f.former ->> 'accruals')::int, last_time = (f.former ->> 'lastTime')::bigint,
      last_per_unit = (f.former ->> 'lastPerUnit')::numeric
    FROM f WHERE f.address = '' AND f.former IS NOT NULL AND w.pool_id = f.pool_id
  ), no_positions AS (
    DELETE FROM positions p USING f WHERE f.former IS NULL AND p.pool_id = f.pool_id AND p.address = f.address
  ), restored AS (
    UPDATE positions p SET accruals = (f.former ->> 'accruals')::int, ${[
      ['weight_offset', 'offset'],
      ...['balance', 'owed', 'deposited', 'withdrawn', 'claimed'].map((column) => [column, column]),
    ]
      .map(([column, name]) => `${column} = (f.former ->> '${name}')::numeric`)
      .join(', ')}
    FROM f WHERE f.former IS NOT NULL AND p.pool_id = f.pool_id AND p.address = f.address
  )
  SELECT DISTINCT pool_id AS pool FROM found WHERE NOT is_known`;
export const FORGET_FORMER = `
  DELETE FROM position_journal j WHERE block_number > $1 AND ($2::text IS NULL
    OR EXISTS (SELECT FROM pools p WHERE p.id = j.pool_id AND p.contract_address = $2))`;

/** Deletes everything about these pools. Parameter: pool ids. */
export const CLEAR_POOLS = ['pool_weights', 'accrual_rates', 'positions', 'position_journal'].map(
  (table) => `DELETE FROM ${table} WHERE pool_id = ANY($1::uuid[])`,
);

const ITS_EVENT = 'LEFT JOIN chain_events e USING (block_number, log_index)';

/**
 * Events that count for positions, in chain order: all from the pool's own contract, even if the ledger rejected them.
 * Applied events are found through the ledger, which has the index; their times are those of the blocks. Parameter: pool
 * ids.
 */
export const OPEN_EVENTS = `
  DECLARE pool_events NO SCROLL CURSOR FOR
  SELECT ${compact('pool_id')} AS "poolId", kind, account, amount::text, extract(epoch FROM time)::float8 AS time,
    block_number::float8 AS "blockNumber", members
  FROM (
    SELECT t.pool_id, ${KIND} AS kind, t.account, t.amount, coalesce(e.block_time, t.confirmed_at) AS time, block_number,
      log_index::bigint, NULL::text[] AS members
    FROM transactions t ${ITS_EVENT} WHERE t.pool_id = ANY($1::uuid[]) AND t.status = 'CONFIRMED'
    UNION ALL
    SELECT y.pool_id, 'YieldAccrued', NULL, y.amount, coalesce(e.block_time, y.accrued_at), block_number, log_index, NULL
    FROM yield_accruals y ${ITS_EVENT} WHERE y.pool_id = ANY($1::uuid[])
    UNION ALL
    SELECT e.pool_id, e.kind, e.account, e.amount, e.block_time, e.block_number, e.log_index, CASE e.kind
      WHEN 'RoundEnded' THEN (SELECT array_agg(m.account) FROM circle_members m
        WHERE m.contract = e.contract AND m.circle_id = e.circle_id) END
    FROM chain_events e JOIN pools p ON p.id = e.pool_id AND p.contract_address = e.contract
    WHERE e.pool_id = ANY($1::uuid[]) AND e.kind IN (${CHANGING}) AND ${OF_ITS_CIRCLE}
      AND (e.outcome IN ('OVERDRAW', 'REFUSED', 'FAILED') OR e.kind = 'RoundEnded' AND e.outcome = 'APPLIED')
  ) events ORDER BY pool_id, block_number, log_index`;
export const NEXT_EVENTS = 'FETCH 10000 FROM pool_events';
export const CLOSE_EVENTS = 'CLOSE pool_events';
