/**
 * The statements by which a batch of events becomes transactions, accruals and draws. They work on the temporary
 * table `batch`, set by set, within the transaction that moves the cursor.
 */

/** One row an event; `fresh` ones are not in chain_events yet. */
export const CREATE_BATCH = `
  CREATE TEMPORARY TABLE IF NOT EXISTS batch (
    block_number bigint, log_index integer, block_hash text COLLATE "C", block_time timestamptz(3),
    tx_hash text COLLATE "C", contract text COLLATE "C", seq bigint, kind text COLLATE "C",
    pool_id uuid, ref uuid, draw_id numeric(20,0), account text COLLATE "C", amount numeric(78,0),
    apr_bps bigint, draw_time timestamptz(3), outcome text COLLATE "C", transaction_id uuid,
    fresh boolean, matched boolean NOT NULL DEFAULT false
  ) ON COMMIT DELETE ROWS`;

const EVENT = `block_number, log_index, block_hash, block_time, tx_hash, contract, seq, kind, pool_id, ref, draw_id,
  account, amount, apr_bps, draw_time`;

/** Parameters: the columns as arrays, in the order of EVENT, then the ids for transactions born on the chain. */
export const LOAD_FRESH = `
  INSERT INTO batch (${EVENT}, transaction_id, fresh)
  SELECT block_number, log_index, block_hash, to_timestamp(block_time), tx_hash, contract, seq, kind, pool_id, ref,
    draw_id, account, amount, apr_bps, to_timestamp(draw_time), transaction_id, true
  FROM unnest($1::bigint[], $2::int[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::text[],
    $9::uuid[], $10::uuid[], $11::numeric[], $12::text[], $13::numeric[], $14::bigint[], $15::bigint[], $16::uuid[])
    AS e(block_number, log_index, block_hash, block_time, tx_hash, contract, seq, kind, pool_id, ref, draw_id, account,
      amount, apr_bps, draw_time, transaction_id)`;

/** Events that need more confirmations are only kept. Parameter: the last block that takes effect. */
export const KEEP_UNCONFIRMED = `
  WITH early AS (DELETE FROM batch WHERE block_number > $1 RETURNING *)
  INSERT INTO chain_events (${EVENT}, outcome, transaction_id) SELECT ${EVENT}, 'WAITING', transaction_id FROM early`;

/** Events kept before that can take effect now: confirmed, or of a pool that has appeared, or overdrawn before. */
export const LOAD_KEPT = `
  INSERT INTO batch (${EVENT}, transaction_id, fresh)
  SELECT ${EVENT}, transaction_id, false FROM chain_events WHERE outcome = 'WAITING' AND block_number <= $1
  UNION ALL
  SELECT ${EVENT}, transaction_id, false FROM chain_events e
  WHERE outcome IN ('UNKNOWN_POOL', 'OVERDRAW') AND EXISTS (SELECT FROM pools WHERE id = e.pool_id)`;

export const CLASSIFY = `
  UPDATE batch b SET outcome = CASE
    WHEN b.pool_id IS NULL THEN 'APPLIED'
    WHEN p.id IS NULL THEN 'UNKNOWN_POOL'
    WHEN p.contract_address <> b.contract THEN 'REFUSED'
    ELSE 'APPLIED' END
  FROM batch x LEFT JOIN pools p ON p.id = x.pool_id
  WHERE x.block_number = b.block_number AND x.log_index = b.log_index`;

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

/** Rows: one a deposit whose amount on the chain is not the requested one; the chain's wins. */
export const CONFIRM_DEPOSITS = `
  WITH confirmed AS (
    UPDATE transactions t SET status = 'CONFIRMED', amount = b.amount, tx_hash = b.tx_hash,
      block_number = b.block_number, log_index = b.log_index, confirmed_at = b.block_time
    FROM batch b WHERE b.matched AND t.id = b.transaction_id
    RETURNING t.amount <> t.requested_amount AS differs
  )
  SELECT count(*)::int AS count FROM confirmed WHERE differs`;

const insertTransactions = (kinds: string): string => `
  INSERT INTO transactions
    (id, pool_id, type, status, account, amount, tx_hash, block_number, log_index, created_at, confirmed_at)
  SELECT transaction_id, pool_id,
    CASE kind WHEN 'Deposited' THEN 'DEPOSIT' WHEN 'Withdrawn' THEN 'WITHDRAWAL' ELSE 'YIELD_CLAIM' END,
    'CONFIRMED', account, amount, tx_hash, block_number, log_index, block_time, block_time
  FROM batch WHERE kind IN (${kinds}) AND outcome = 'APPLIED' AND NOT matched`;

export const INSERT_DEPOSITS_AND_CLAIMS = insertTransactions(`'Deposited', 'YieldClaimed'`);
export const INSERT_WITHDRAWALS = insertTransactions(`'Withdrawn'`);

/** Withdrawals beyond a pool's balance are kept unapplied, never clamped. Rows: one a withdrawal. */
export const FIND_OVERDRAWS = `
  UPDATE batch b SET outcome = 'OVERDRAW'
  FROM (
    SELECT w.block_number, w.log_index, p.balance,
      sum(w.amount) OVER (PARTITION BY w.pool_id ORDER BY w.block_number, w.log_index) AS withdrawn
    FROM batch w JOIN pools p ON p.id = w.pool_id WHERE w.kind = 'Withdrawn' AND w.outcome = 'APPLIED'
  ) w
  WHERE w.withdrawn > w.balance AND b.block_number = w.block_number AND b.log_index = w.log_index`;

export const INSERT_ACCRUALS = `
  INSERT INTO yield_accruals (pool_id, block_number, log_index, amount, apr_bps, accrued_at)
  SELECT pool_id, block_number, log_index, amount, least(apr_bps, 2147483647), block_time
  FROM batch WHERE kind = 'YieldAccrued' AND outcome = 'APPLIED'`;

export const KEEP_FRESH = `
  INSERT INTO chain_events (${EVENT}, outcome, transaction_id)
  SELECT ${EVENT}, outcome, transaction_id FROM batch WHERE fresh`;

export const UPDATE_KEPT = `
  UPDATE chain_events e SET outcome = b.outcome, transaction_id = b.transaction_id
  FROM batch b WHERE NOT b.fresh AND e.block_number = b.block_number AND e.log_index = b.log_index`;

/** Rows: kind of anomaly, count. */
export const COUNT_ANOMALIES = `
  SELECT lower(outcome) AS kind, count(*)::int AS count FROM batch WHERE fresh AND outcome <> 'APPLIED' GROUP BY 1`;

export const BATCH_DRAWS = `SELECT DISTINCT draw_id FROM batch WHERE draw_id IS NOT NULL`;

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
  WITH expired AS (
    UPDATE transactions SET status = 'EXPIRED'
    WHERE status = 'PENDING' AND created_at < to_timestamp($1::bigint - $2::bigint) RETURNING 1
  )
  SELECT count(*)::int AS count FROM expired`;

/** Taking back: everything that came from blocks after parameter 1. */
export const UNDO = {
  draws: `SELECT DISTINCT draw_id FROM chain_events WHERE draw_id IS NOT NULL AND block_number > $1`,
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
  events: `DELETE FROM chain_events WHERE block_number > $1`,
  blocks: `DELETE FROM chain_blocks WHERE number > $1`,
};

/** Parameters: number, hash, time, applied number, head, state; hash before, epoch. */
export const MOVE_CURSOR = `
  UPDATE chain_cursor SET block_number = $1, block_hash = $2, block_time = to_timestamp($3::bigint),
    applied_number = $4, head_number = $5, state = $6, beat_at = now()
  WHERE block_hash = $7 AND epoch = $8`;

/** Parameters: numbers, hashes, parent hashes, times; the newest block that leaves the window. */
export const KEEP_BLOCKS = `
  WITH gone AS (DELETE FROM chain_blocks WHERE number < $5)
  INSERT INTO chain_blocks (number, hash, parent_hash, time)
  SELECT number, hash, parent_hash, to_timestamp(time)
  FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[]) AS b(number, hash, parent_hash, time)`;
