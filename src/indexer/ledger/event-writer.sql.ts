import { CIRCLE_OF_POOL } from './circles';
import { MOVES_MONEY, typeOf } from '#indexer/reading/money';
import { TAKE_BACK } from './holdings';
import type { ChainEvent } from '#indexer/reading/decode';
import type { Decision } from './decide';

/** The statements that turn a batch of events into transactions and accruals, in the cursor's transaction. */

type Value = string | number | boolean | null | undefined;
type Column = readonly [
  column: string,
  type: string,
  value: keyof ChainEvent | ((decision: Decision) => Value),
];

/** The columns of chain_events that hold an event: name, type of the parameter, field. Times are in seconds. */
export const EVENT_COLUMNS = [
  ['block_number', 'bigint', 'blockNumber'],
  ['log_index', 'bigint', 'logIndex'],
  ['block_hash', 'text', 'blockHash'],
  ['block_time', 'time', 'time'],
  ['tx_hash', 'text', 'txHash'],
  ['contract', 'text', 'contract'],
  ['seq', 'bigint', 'seq'],
  ['kind', 'text', 'kind'],
  ['pool_id', 'uuid', 'poolId'],
  ['pool_name', 'text', 'poolName'],
  ['ref', 'uuid', 'ref'],
  ['draw_id', 'numeric', 'drawId'],
  ['account', 'text', 'account'],
  ['amount', 'numeric', 'amount'],
  ['fee', 'numeric', 'fee'],
  ['remaining', 'numeric', 'remaining'],
  ['apr_bps', 'bigint', 'aprBps'],
  ['draw_time', 'time', 'drawTime'],
  ['circle_id', 'numeric', 'circleId'],
  ['collateral', 'numeric', 'collateral'],
  ['period', 'bigint', 'period'],
  ['place', 'bigint', 'place'],
  ['shares', 'numeric', 'shares'],
] as const satisfies readonly Column[];
const COLUMNS: Column[] = [
  ...EVENT_COLUMNS,
  ['outcome', 'text', ({ outcome }) => outcome],
  ['reason', 'text', ({ reason }) => reason && JSON.stringify(reason)],
  ['transaction_id', 'uuid', ({ transactionId }) => transactionId],
];
/** Further facts about an event that are not stored with it. */
const FACTS: Column[] = [
  ['owner_id', 'uuid', ({ pool }) => pool?.ownerId],
  ['by_owner', 'boolean', ({ pool, event }) => (pool ? pool.owner === event.account : null)],
  ['kept', 'boolean', ({ before }) => before !== undefined],
  ['matched', 'boolean', ({ matched }) => matched !== undefined],
];
const names = (columns: readonly Column[]): string => columns.map(([column]) => column).join(', ');
const EVENT = names(EVENT_COLUMNS);

const parameter = ([column, type]: Column, index: number): string =>
  type === 'time'
    ? `to_timestamp(unnest($${index + 1}::bigint[])) AS ${column}`
    : `unnest($${index + 1}::${type}[]) AS ${column}`;

/**
 * The array literal of a parameter. The values are digits, hex and our own words, so only reasons need quoting. This is
 * several times as fast as the driver's conversion. Most batches leave many columns empty: arrays that are unnested side by
 * side are filled up with nulls.
 */
function literalOf(decisions: Decision[], [, , value]: Column): string {
  const fields =
    typeof value === 'string'
      ? decisions.map(({ event }) => (event[value] as Value) ?? 'NULL')
      : decisions.map((decision) => value(decision) ?? 'NULL');
  return fields.every((field) => field === 'NULL') ? '{}' : `{${fields.join(',')}}`;
}

const WRITTEN = [...COLUMNS, ...FACTS];
const WRITE_EVENTS = `
  WITH e AS MATERIALIZED (
    SELECT ${WRITTEN.map(parameter).join(', ')}
  ), fresh AS (
    INSERT INTO chain_events (${names(COLUMNS)}) SELECT ${names(COLUMNS)} FROM e WHERE NOT kept
  ), accruals AS (
    INSERT INTO yield_accruals (pool_id, block_number, log_index, amount, apr_bps, accrued_at)
    SELECT pool_id, block_number, log_index, amount, apr_bps, block_time
    FROM e WHERE kind = 'YieldAccrued' AND outcome = 'APPLIED'
  )
  INSERT INTO transactions (id, pool_id, owner_id, by_owner, type, status, account, amount, tx_hash, block_number,
    log_index, created_at, confirmed_at)
  SELECT transaction_id, pool_id, owner_id, by_owner, ${typeOf('kind')}, 'CONFIRMED', account, amount, tx_hash, block_number, log_index, block_time, block_time
  FROM e WHERE transaction_id IS NOT NULL AND NOT matched`;

interface Query {
  name: string;
  text: string;
  values: string[];
}

/** Stores the events that are new, and writes the transactions and accruals of all that apply. */
export const writeEvents = (decisions: Decision[]): Query => ({
  name: 'write_events',
  text: WRITE_EVENTS,
  values: WRITTEN.map((column) => literalOf(decisions, column)),
});

/**
 * Loads what decides on the events of pools, and holds them, so that none is cancelled before its events are applied.
 * Parameter: pool ids. Ids are given as 32 hex digits.
 */
export const LOAD_POOLS = {
  name: 'load_pools',
  text: `
    SELECT replace(p.id::text, '-', '') AS id, p.contract_address AS contract, p.owner_id AS "ownerId",
      u.address AS owner, ${CIRCLE_OF_POOL} AS circle, (p.balance - p.pending_balance)::text AS balance,
      EXISTS (SELECT FROM chain_events e WHERE e.pool_id = p.id AND e.outcome = 'UNKNOWN_POOL') AS appeared,
      (SELECT json_agg(json_build_object('id', replace(t.id::text, '-', ''), 'account', t.account,
          'requested', t.requested_amount::text,
          'hash', (SELECT s.hash FROM submissions s WHERE s.transaction_id = t.id)) ORDER BY t.id)
        FROM transactions t WHERE t.pool_id = p.id AND t.type = 'DEPOSIT' AND t.status IN ('PENDING', 'EXPIRED')
      ) AS announced
    FROM pools p JOIN users u ON u.id = p.owner_id WHERE p.id = ANY($1::uuid[]) ORDER BY p.id FOR KEY SHARE OF p`,
};

/** Parameters: ids of pools that do not exist, and the contract that names each; null: the pool's own. */
export const RESTORE_POOLS = 'SELECT restore_pools($1::uuid[], $2::text[]) AS count';

/** Events that now have enough confirmations. Parameter: the last block that takes effect. */
export const LOAD_CONFIRMED = `
  SELECT ${EVENT}, outcome FROM chain_events WHERE outcome = 'WAITING' AND block_number <= $1`;
/**
 * The first events of pools that were unknown until now, up to the end of a block: both events of a log take effect
 * together. Parameters: pool ids, how many events of each, without the rest of the last block.
 */
export const LOAD_APPEARED = `
  SELECT e.* FROM unnest($1::uuid[]) AS p(id) CROSS JOIN LATERAL (
    SELECT ${EVENT}, outcome FROM chain_events WHERE outcome = 'UNKNOWN_POOL' AND pool_id = p.id
    ORDER BY block_number FETCH FIRST ($2) ROWS WITH TIES) e`;

/**
 * Finds unknown pools that have been created since, or were cancelled and are brought back by money. It looks at a
 * limited number of events at a time, so that many events of unknown pools cost little. Parameters: the pool id to
 * continue from, number of events to look at. Row: the last pool id looked at, how many events, pools that exist now.
 */
export const FIND_APPEARED = `
  WITH looked AS MATERIALIZED (
    SELECT pool_id FROM chain_events WHERE outcome = 'UNKNOWN_POOL' AND pool_id > $1::uuid ORDER BY pool_id LIMIT $2
  )
  SELECT (SELECT pool_id FROM looked ORDER BY pool_id DESC LIMIT 1) AS last, (SELECT count(*)::int FROM looked) AS count,
    array(SELECT replace(p.id::text, '-', '') FROM pools p WHERE p.id IN (SELECT pool_id FROM looked)
      UNION ALL SELECT replace(c.id::text, '-', '') FROM cancelled_pools c
      WHERE c.id IN (SELECT pool_id FROM looked) AND EXISTS (SELECT FROM chain_events e
        WHERE e.outcome = 'UNKNOWN_POOL' AND e.pool_id = c.id AND e.contract = c.contract_address
          AND ${MOVES_MONEY})) AS pools`;

/** Sets the amount to the chain's. Parameters: ids, amounts, hashes, blocks, log indexes, times. */
export const CONFIRM_DEPOSITS = `
  UPDATE transactions t SET status = 'CONFIRMED', amount = m.amount, tx_hash = m.tx_hash,
    block_number = m.block_number, log_index = m.log_index, confirmed_at = to_timestamp(m.time)
  FROM unnest($1::uuid[], $2::numeric[], $3::text[], $4::bigint[], $5::int[], $6::bigint[])
    AS m(id, amount, tx_hash, block_number, log_index, time)
  WHERE t.id = m.id`;

/** Parameters: blocks, log indexes, kinds, amounts, outcomes, reasons, transaction ids. */
export const UPDATE_KEPT = `
  UPDATE chain_events e SET kind = k.kind, amount = k.amount, outcome = k.outcome, reason = k.reason,
    transaction_id = k.transaction_id
  FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::numeric[], $5::text[], $6::text[], $7::uuid[])
    AS k(block_number, log_index, kind, amount, outcome, reason, transaction_id)
  WHERE e.block_number = k.block_number AND e.log_index = k.log_index`;

/** In seconds. Parameter: block number. */
export const BLOCK_TIME = `SELECT extract(epoch FROM time)::bigint AS time FROM chain_blocks WHERE number = $1`;
/**
 * A deposit expires if no event has confirmed it and its lifetime ended before the time of the last block in effect.
 * The chain's clock counts, so an outage expires nothing; nor does one of its contract alone. Parameter: deposits made before this time, in seconds,
 * expire.
 */
export const EXPIRE_DEPOSITS = `
  UPDATE transactions t SET status = 'EXPIRED' WHERE status = 'PENDING' AND created_at < to_timestamp($1::bigint)
    AND NOT EXISTS (SELECT FROM chain_contracts_apart a JOIN pools p ON p.contract_address = a.address
      WHERE p.id = t.pool_id)`;
/** Reverts expiry after a reorganisation, for deposits that the chain's clock has not reached. */
export const REVIVE_DEPOSITS = `
  UPDATE transactions SET status = 'PENDING' WHERE status = 'EXPIRED' AND created_at >= to_timestamp($1::bigint)`;

/** SQL: of the contract that parameter 2 names, or of any. */
const OF_CONTRACT = 'e.contract = coalesce($2::text, e.contract)';

const UNDONE = `contract, draw_id AS "drawId", circle_id AS "circleId",
      CASE WHEN draw_id IS NOT NULL THEN account END AS account, outcome, count(*)::int AS count`;

/** Undoes the effect of all blocks after parameter 1. Parameter 2: the contract whose events alone are meant, or null. */
export const UNDO = {
  createdRows: `
    DELETE FROM transactions t USING chain_events e
    WHERE e.block_number > $1 AND ${OF_CONTRACT} AND e.outcome = 'APPLIED' AND t.id = e.transaction_id AND t.requested_amount IS NULL`,
  matched: `
    UPDATE transactions t SET status = 'PENDING', amount = t.requested_amount, tx_hash = NULL, block_number = NULL,
      log_index = NULL, confirmed_at = NULL, gas_used = NULL, gas_price = NULL, l1_fee = NULL
    FROM chain_events e WHERE e.block_number > $1 AND ${OF_CONTRACT} AND e.outcome = 'APPLIED' AND t.id = e.transaction_id
      AND t.requested_amount IS NOT NULL`,
  accruals: `
    DELETE FROM yield_accruals y USING chain_events e
    WHERE e.block_number > $1 AND ${OF_CONTRACT} AND e.kind = 'YieldAccrued' AND e.outcome = 'APPLIED'
      AND y.pool_id = e.pool_id AND y.block_number = e.block_number AND y.log_index = e.log_index`,
  shares: TAKE_BACK,
  prices: `DELETE FROM share_prices WHERE block_number > $1 AND vault = coalesce($2::text, vault)`,
  /** Rows, here and below: the number of events by outcome, and by draw and account, or by circle. */
  events: `
    WITH gone AS (
      DELETE FROM chain_events e WHERE e.block_number > $1 AND ${OF_CONTRACT} RETURNING contract, draw_id, circle_id, account, outcome)
    SELECT ${UNDONE} FROM gone GROUP BY 1, 2, 3, 4, 5`,
  /** Events that stay stored but no longer have enough confirmations. */
  confirmations: `
    WITH applied AS MATERIALIZED (
      SELECT block_number, log_index, contract, draw_id, circle_id, account, outcome FROM chain_events e
      WHERE block_number > $1 AND ${OF_CONTRACT} AND outcome <> 'WAITING'
    ), waiting AS (
      UPDATE chain_events e SET outcome = 'WAITING', reason = NULL, transaction_id = NULL
      FROM applied a WHERE e.block_number = a.block_number AND e.log_index = a.log_index
    )
    SELECT ${UNDONE} FROM applied GROUP BY 1, 2, 3, 4, 5`,
  names: `DELETE FROM pool_names e WHERE block_number > $1 AND ${OF_CONTRACT}`,
  blocks: `DELETE FROM chain_blocks WHERE number > $1`,
  /** Nothing is proven of blocks that are gone, or of a contract's events that were taken back. */
  proofs: `
    WITH gone AS (DELETE FROM chain_proofs e WHERE from_number > $1 AND ${OF_CONTRACT})
    UPDATE chain_proofs e SET to_number = $1 WHERE from_number <= $1 AND to_number > $1 AND ${OF_CONTRACT}`,
  /** Contracts apart that had come further go on from there. Further parameters: hash and time of that block. */
  apart: `
    UPDATE chain_contracts_apart SET block_number = $1, block_hash = $2, block_time = to_timestamp($3::bigint)
    WHERE block_number > $1`,
};

/**
 * Parameters: number, hash, time, last block in effect, head, state; previous hash, epoch; whether it is proven,
 * whether there was progress; the last final block, null if none is known.
 */
export const MOVE_CURSOR = `
  UPDATE chain_cursor SET block_number = $1, block_hash = $2, block_time = to_timestamp($3::bigint),
    applied_number = $4, head_number = $5, state = $6, beat_at = now(),
    proven_number = CASE WHEN $9 THEN $1 ELSE least(proven_number, $1) END,
    progress_at = CASE WHEN $10 THEN now() ELSE progress_at END, finalized_number = $11
  WHERE block_hash = $7 AND epoch = $8`;

/** Parameters: contracts, first and last block. Extends a stretch that ends just before the first block. */
export const KEEP_PROOF = `
  WITH longer AS (
    UPDATE chain_proofs SET to_number = $3 WHERE contract = ANY($1::text[]) AND to_number = $2::bigint - 1 RETURNING contract
  )
  INSERT INTO chain_proofs (contract, from_number, to_number)
  SELECT contract, $2, $3 FROM unnest($1::text[]) AS c(contract) WHERE contract NOT IN (SELECT contract FROM longer)`;
