import { type ChainEvent, transactionId } from './decode';

/**
 * The statements by which a batch of events becomes transactions, accruals and draws. They work on the temporary
 * table `batch`, set by set, within the transaction that moves the cursor.
 */

/** One row an event; those that are `kept` are in chain_events already. */
export const CREATE_BATCH = `
  CREATE TEMPORARY TABLE IF NOT EXISTS batch (
    LIKE chain_events, kept boolean NOT NULL, matched boolean NOT NULL DEFAULT false
  ) ON COMMIT DELETE ROWS`;

type Value = (event: ChainEvent) => string | number | null;

/** What is kept of an event: column, type of its parameter (`time` is in seconds), value. */
const COLUMNS: [column: string, type: string, value: Value][] = [
  ['block_number', 'bigint', (e) => e.blockNumber],
  ['log_index', 'int', (e) => e.logIndex],
  ['block_hash', 'text', (e) => e.blockHash],
  ['block_time', 'time', (e) => e.time],
  ['tx_hash', 'text', (e) => e.txHash],
  ['contract', 'text', (e) => e.contract],
  ['seq', 'bigint', (e) => e.seq],
  ['kind', 'text', (e) => e.kind],
  ['pool_id', 'uuid', (e) => e.poolId],
  ['ref', 'uuid', (e) => e.ref],
  ['draw_id', 'numeric', (e) => e.drawId],
  ['account', 'text', (e) => e.account],
  ['amount', 'numeric', (e) => e.amount],
  ['apr_bps', 'bigint', (e) => e.aprBps],
  ['draw_time', 'time', (e) => e.drawTime],
  ['transaction_id', 'uuid', transactionId],
];
const EVENT = COLUMNS.map(([column]) => column).join(', ');

/** An array parameter from `$3` on. */
const parameter = ([column, type]: (typeof COLUMNS)[number], index: number): string =>
  type === 'time'
    ? `to_timestamp(unnest($${index + 3}::bigint[])) AS ${column}`
    : `unnest($${index + 3}::${type}[]) AS ${column}`;

/**
 * Array literals for these parameters. The values are digits, hex and our own words, so nothing needs quoting, which
 * makes this several times as fast as the driver's conversion.
 */
export const arrays = (events: ChainEvent[]): string[] =>
  COLUMNS.map(([, , value]) => `{${events.map((event) => value(event) ?? 'NULL').join(',')}}`);

/** Parameters: the last block that takes effect, the contract that holds draws. */
const load = (kept: boolean, source: string): string => `
  INSERT INTO batch (${EVENT}, outcome, kept)
  SELECT ${EVENT.replace(/\w+/g, 'e.$&')}, CASE
      WHEN e.block_number > $1 THEN 'WAITING'
      WHEN e.draw_id IS NOT NULL THEN
        CASE WHEN e.contract = $2 AND e.draw_id < 9223372036854775808 THEN 'APPLIED' ELSE 'REFUSED' END
      WHEN p.id IS NULL THEN 'UNKNOWN_POOL'
      WHEN p.contract_address <> e.contract THEN 'REFUSED'
      ELSE 'APPLIED' END, ${kept}
  FROM ${source}`;

/** Further parameters: `arrays`. */
export const LOAD_FRESH = load(
  false,
  `(SELECT ${COLUMNS.map(parameter).join(', ')}) e
  LEFT JOIN pools p ON p.id = e.pool_id`,
);
/** Events that have got their confirmations. */
export const LOAD_CONFIRMED = load(
  true,
  `chain_events e LEFT JOIN pools p ON p.id = e.pool_id WHERE e.outcome = 'WAITING' AND e.block_number <= $1`,
);
/** Earlier events of the pools in the batch, as it is the first to know these pools. */
export const LOAD_APPEARED = load(
  true,
  `chain_events e JOIN pools p ON p.id = e.pool_id
   WHERE e.outcome = 'UNKNOWN_POOL' AND e.pool_id IN (SELECT pool_id FROM batch WHERE outcome = 'APPLIED')`,
);
/** The same, of whatever pool has appeared. */
export const LOAD_ALL_APPEARED = load(
  true,
  `chain_events e JOIN pools p ON p.id = e.pool_id WHERE e.outcome = 'UNKNOWN_POOL'`,
);

/** Without it the planner takes the batch for a handful of rows, and joins it row by row. */
export const COUNT_BATCH = `ANALYZE batch (block_number, log_index, kind, pool_id, outcome)`;

/**
 * A withdrawal beyond what was deposited on the chain before it is kept unapplied, never clamped. Marks the first of
 * each pool and is repeated until there is none, so that one that is refused does not count against the next.
 */
export const FIND_OVERDRAWS = `
  WITH confirmed AS (
    SELECT id, balance - pending_balance AS balance
    FROM pools p WHERE id IN (SELECT pool_id FROM batch WHERE kind = 'Withdrawn' AND outcome = 'APPLIED')
  ), running AS (
    SELECT b.pool_id, b.block_number, b.log_index,
      c.balance + sum(CASE b.kind WHEN 'Deposited' THEN b.amount ELSE -b.amount END)
        OVER (PARTITION BY b.pool_id ORDER BY b.block_number, b.log_index) AS balance
    FROM batch b JOIN confirmed c ON c.id = b.pool_id
    WHERE b.kind IN ('Deposited', 'Withdrawn') AND b.outcome = 'APPLIED'
  ), first AS (
    SELECT DISTINCT ON (pool_id) block_number, log_index FROM running WHERE balance < 0
    ORDER BY pool_id, block_number, log_index
  )
  UPDATE batch b SET outcome = 'OVERDRAW' FROM first f
  WHERE b.block_number = f.block_number AND b.log_index = f.log_index`;

/**
 * Finds the pending row of each deposit: by reference, but only if pool and account agree, since a reference is
 * public in the mempool; else the oldest of pool, account and amount. Late events match expired rows too.
 */
export const MATCH_DEPOSITS = `
  WITH wanted AS MATERIALIZED (
    SELECT block_number, log_index, pool_id, account, amount, ref FROM batch
    WHERE kind = 'Deposited' AND outcome = 'APPLIED'
  ), candidates AS MATERIALIZED (
    SELECT t.id, t.pool_id, t.account, t.amount FROM transactions t
    WHERE t.status IN ('PENDING', 'EXPIRED') AND t.type = 'DEPOSIT'
      AND t.pool_id IN (SELECT pool_id FROM wanted)
    FOR UPDATE
  ), by_ref AS (
    SELECT DISTINCT ON (c.id) w.block_number, w.log_index, c.id
    FROM wanted w JOIN candidates c ON c.id = w.ref AND c.pool_id = w.pool_id AND c.account = w.account
    ORDER BY c.id, w.block_number, w.log_index
  ), events AS (
    SELECT block_number, log_index, pool_id, account, amount,
      row_number() OVER (PARTITION BY pool_id, account, amount ORDER BY block_number, log_index) AS n
    FROM wanted WHERE (block_number, log_index) NOT IN (SELECT block_number, log_index FROM by_ref)
  ), rows AS (
    SELECT id, pool_id, account, amount,
      row_number() OVER (PARTITION BY pool_id, account, amount ORDER BY id) AS n
    FROM candidates WHERE id NOT IN (SELECT id FROM by_ref)
  ), matches AS (
    SELECT block_number, log_index, id FROM by_ref
    UNION ALL
    SELECT e.block_number, e.log_index, r.id FROM events e JOIN rows r USING (pool_id, account, amount, n)
  )
  UPDATE batch b SET transaction_id = m.id, matched = true FROM matches m
  WHERE b.block_number = m.block_number AND b.log_index = m.log_index`;

/** Row: how many have another amount on the chain than was requested; the chain's wins. */
export const CONFIRM_DEPOSITS = `
  WITH confirmed AS (
    UPDATE transactions t SET status = 'CONFIRMED', amount = b.amount, tx_hash = b.tx_hash,
      block_number = b.block_number, log_index = b.log_index, confirmed_at = b.block_time
    FROM batch b WHERE b.matched AND t.id = b.transaction_id
    RETURNING t.amount <> t.requested_amount AS differs
  )
  SELECT count(*)::int AS count FROM confirmed WHERE differs`;

export const INSERT_TRANSACTIONS = `
  INSERT INTO transactions (id, pool_id, owner_id, by_owner, type, status, account, amount, tx_hash, block_number,
    log_index, created_at, confirmed_at)
  SELECT b.transaction_id, b.pool_id, p.owner_id, b.account = u.address,
    CASE kind WHEN 'Deposited' THEN 'DEPOSIT' WHEN 'Withdrawn' THEN 'WITHDRAWAL' ELSE 'YIELD_CLAIM' END,
    'CONFIRMED', b.account, b.amount, b.tx_hash, b.block_number, b.log_index, b.block_time, b.block_time
  FROM batch b JOIN pools p ON p.id = b.pool_id JOIN users u ON u.id = p.owner_id
  WHERE kind IN ('Deposited', 'Withdrawn', 'YieldClaimed') AND outcome = 'APPLIED' AND NOT matched
  ORDER BY b.block_number, b.log_index`;

export const INSERT_ACCRUALS = `
  INSERT INTO yield_accruals (pool_id, block_number, log_index, amount, apr_bps, accrued_at)
  SELECT pool_id, block_number, log_index, amount, apr_bps, block_time
  FROM batch WHERE kind = 'YieldAccrued' AND outcome = 'APPLIED'`;

export const KEEP_FRESH = `
  INSERT INTO chain_events (${EVENT}, outcome) SELECT ${EVENT}, outcome FROM batch WHERE NOT kept`;

export const UPDATE_KEPT = `
  UPDATE chain_events e SET outcome = b.outcome, transaction_id = b.transaction_id
  FROM batch b WHERE b.kept AND e.block_number = b.block_number AND e.log_index = b.log_index`;

/** Rows: kind of anomaly, count. */
export const COUNT_ANOMALIES = `
  SELECT lower(outcome) AS kind, count(*)::int AS count FROM batch
  WHERE outcome NOT IN ('APPLIED', 'WAITING') GROUP BY 1`;

export const BATCH_DRAWS = `SELECT DISTINCT draw_id FROM batch WHERE draw_id IS NOT NULL AND outcome = 'APPLIED'`;

/**
 * Draws are made anew from all their applied events whenever one comes or goes: taking single events back was found
 * to go wrong. Parameter: draw ids.
 */
export const DELETE_DRAWS = `DELETE FROM lottery_draws WHERE draw_id = ANY($1::numeric[])`;
export const MAKE_DRAWS = `
  WITH events AS MATERIALIZED (
    SELECT * FROM chain_events WHERE draw_id = ANY($1::numeric[]) AND outcome = 'APPLIED'
  ), tickets AS (
    SELECT draw_id, account, sum(amount) AS tickets FROM events WHERE kind = 'TicketsIssued' GROUP BY 1, 2
  )
  INSERT INTO lottery_draws (draw_id, status, ticket_price, prize_pool, participants, total_tickets, draw_time,
    winner, winner_tickets, prize, drawn_at)
  SELECT o.draw_id,
    CASE WHEN c.kind IS NOT NULL THEN 'COMPLETED'
      WHEN EXISTS (SELECT FROM events WHERE draw_id = o.draw_id AND kind = 'DrawCancelled') THEN 'CANCELLED'
      WHEN EXISTS (SELECT FROM events WHERE draw_id = o.draw_id AND kind = 'DrawClosed') THEN 'DRAWING'
      ELSE 'ACTIVE' END,
    o.amount,
    (SELECT coalesce(sum(amount), 0) FROM events WHERE draw_id = o.draw_id AND kind = 'PrizeFunded'),
    (SELECT count(*) FROM tickets WHERE draw_id = o.draw_id),
    (SELECT coalesce(sum(tickets), 0) FROM tickets WHERE draw_id = o.draw_id),
    o.draw_time, c.account,
    CASE WHEN c.kind IS NOT NULL THEN
      coalesce((SELECT tickets FROM tickets WHERE draw_id = o.draw_id AND account = c.account), 0) END,
    c.amount, c.block_time
  FROM (SELECT DISTINCT ON (draw_id) * FROM events WHERE kind = 'DrawOpened' ORDER BY draw_id, block_number, log_index) o
  LEFT JOIN (SELECT DISTINCT ON (draw_id) * FROM events WHERE kind = 'DrawCompleted'
    ORDER BY draw_id, block_number DESC, log_index DESC) c USING (draw_id)`;

/** Parameters: block time in seconds, life time in seconds. Outages expire nothing, as the chain's clock counts. */
export const EXPIRE_DEPOSITS = `
  UPDATE transactions SET status = 'EXPIRED'
  WHERE status = 'PENDING' AND created_at < to_timestamp($1::bigint - $2::bigint)`;

/** Taking back: everything that came from blocks after parameter 1. */
export const UNDO = {
  born: `
    DELETE FROM transactions t USING chain_events e
    WHERE e.block_number > $1 AND e.outcome = 'APPLIED' AND t.id = e.transaction_id AND t.requested_amount IS NULL`,
  matched: `
    UPDATE transactions t SET status = 'PENDING', amount = t.requested_amount, tx_hash = NULL, block_number = NULL,
      log_index = NULL, confirmed_at = NULL, gas_used = NULL, gas_price = NULL
    FROM chain_events e WHERE e.block_number > $1 AND e.outcome = 'APPLIED' AND t.id = e.transaction_id
      AND t.requested_amount IS NOT NULL`,
  accruals: `
    DELETE FROM yield_accruals y USING chain_events e
    WHERE e.block_number > $1 AND e.kind = 'YieldAccrued' AND e.outcome = 'APPLIED'
      AND y.pool_id = e.pool_id AND y.block_number = e.block_number AND y.log_index = e.log_index`,
  /** Rows: one an event. */
  events: `DELETE FROM chain_events WHERE block_number > $1 RETURNING draw_id`,
  blocks: `DELETE FROM chain_blocks WHERE number > $1`,
};

/** Parameters: number, hash, time, last block in effect, head, state; hash before, epoch; is it proven, and progress. */
export const MOVE_CURSOR = `
  UPDATE chain_cursor SET block_number = $1, block_hash = $2, block_time = to_timestamp($3::bigint),
    applied_number = $4, head_number = $5, state = $6, beat_at = now(),
    proven_number = CASE WHEN $9 THEN $1 ELSE least(proven_number, $1) END,
    progress_at = CASE WHEN $10 THEN now() ELSE progress_at END
  WHERE block_hash = $7 AND epoch = $8`;

/** Parameters: numbers, hashes, parent hashes, times. Block 0 stays, it tells one chain from another. */
export const KEEP_BLOCKS = `
  INSERT INTO chain_blocks (number, hash, parent_hash, time)
  SELECT number, hash, parent_hash, to_timestamp(time)
  FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[]) AS b(number, hash, parent_hash, time)
  ON CONFLICT DO NOTHING`;
export const DROP_BLOCKS = `DELETE FROM chain_blocks WHERE number < $1 AND number > 0`;
