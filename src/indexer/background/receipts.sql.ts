/** Limits of one look, however much is open: blocks, transactions of a block, and calls to each endpoint; then rows. */
export const AT_ONCE = 25;
const ROWS_AT_ONCE = 500;

/** Seconds until a block is asked for again that nobody had. Each further time they double. */
const FIRST_WAIT_S = 60;
const LONGEST_WAIT_S = 86_400;

/**
 * Blocks with transactions whose gas is not known, but for those that wait, newest first. A look touches a limited number
 * of rows, so that many blocks whose receipts nobody has cost little. Parameter: the block below which to continue. Rows:
 * block, its hash, hashes of its transactions, and the last block looked at, null at the end of all.
 */
export const OPEN = `
  WITH looked AS MATERIALIZED (
    SELECT block_number, log_index, tx_hash FROM transactions
    WHERE status = 'CONFIRMED' AND gas_used IS NULL AND block_number < $1::bigint
    ORDER BY block_number DESC LIMIT ${ROWS_AT_ONCE}
  ), due AS (
    SELECT e.block_number AS number, e.block_hash AS hash, array_agg(DISTINCT l.tx_hash) AS hashes
    FROM looked l JOIN chain_events e ON e.block_number = l.block_number AND e.log_index = l.log_index
    LEFT JOIN receipt_waits w ON w.block_number = e.block_number AND w.block_hash = e.block_hash
    WHERE w.check_at IS NULL OR w.check_at <= now()
    GROUP BY 1, 2 ORDER BY 1 DESC LIMIT ${AT_ONCE}
  )
  SELECT due.number::float8, due.hash, due.hashes[1:${AT_ONCE}] AS hashes,
    CASE (SELECT count(*) FROM looked) WHEN ${ROWS_AT_ONCE}
      THEN (SELECT min(block_number)::float8 FROM looked)
    END AS last
  FROM (SELECT) one LEFT JOIN due ON true ORDER BY 1 DESC`;

/**
 * Stores what was found, and has blocks wait of which nothing was. A block that the ledger has left meanwhile changes
 * nothing: each row is compared with the block of its event, in one snapshot (repeatable read), and a row that another
 * transaction holds is left for later, so that the writer of batches is never waited for. Parameters: transactions,
 * their blocks, these blocks' hashes, gas, price, l1Fee; blocks that were asked for, their hashes, whether anything was
 * found. Row: how many rows have their gas now.
 */
export const KEEP = `
  WITH found AS MATERIALIZED (
    SELECT t.id, r.used, r.price, r.l1_fee
    FROM unnest($1::text[], $2::bigint[], $3::text[], $4::numeric[], $5::numeric[], $6::numeric[])
      AS r(tx_hash, number, hash, used, price, l1_fee)
    JOIN transactions t ON t.tx_hash = r.tx_hash AND t.block_number = r.number
    JOIN chain_events e ON e.block_number = t.block_number AND e.log_index = t.log_index AND e.block_hash = r.hash
    WHERE t.status = 'CONFIRMED' AND t.gas_used IS NULL
    FOR UPDATE OF t SKIP LOCKED
  ), filled AS (
    UPDATE transactions t SET gas_used = f.used, gas_price = f.price, l1_fee = f.l1_fee
    FROM found f WHERE t.id = f.id
  ), asked AS MATERIALIZED (
    SELECT * FROM unnest($7::bigint[], $8::text[], $9::boolean[]) AS a(number, hash, found)
  ), over AS (
    DELETE FROM receipt_waits w USING asked a WHERE w.block_number = a.number AND a.found
  ), waiting AS (
    INSERT INTO receipt_waits AS w (block_number, block_hash, tries, check_at)
    SELECT DISTINCT ON (number) number, hash, 1, now() + interval '${FIRST_WAIT_S} seconds' FROM asked a
    WHERE NOT found AND EXISTS (SELECT FROM chain_events e WHERE e.block_number = a.number AND e.block_hash = a.hash)
    ON CONFLICT ON CONSTRAINT receipt_waits_pkey DO UPDATE SET block_hash = excluded.block_hash,
      tries = CASE WHEN w.block_hash = excluded.block_hash THEN least(w.tries + 1, 30) ELSE 1 END,
      check_at = CASE WHEN w.block_hash = excluded.block_hash
        THEN now() + make_interval(secs => least(${FIRST_WAIT_S} * power(2, w.tries), ${LONGEST_WAIT_S}))
        ELSE excluded.check_at END
  )
  SELECT count(*)::int AS filled FROM found`;
