import { isApart } from '#ledger/chain/chain.sql';
import { COMPOUNDED } from '#indexer/ledger/decide';
import { WINDOW_BLOCKS } from '#indexer/reading/block-batch';

/** Bounds of one round, whatever users tell. */
export const ROWS_A_ROUND = 10;
const ACCOUNTS_A_ROUND = 500;

/** Seconds until the second look. Each further one waits twice as long. */
const FIRST_WAIT_S = 40;
const LONGEST_WAIT_S = 3600;

/**
 * Those to look at: one of each account that has any that are due, account after account, so that nobody waits for what
 * another has told. Row: the account to go on after, empty at the end; nulls if none is due. Parameter: the account to
 * go on after.
 */
export const DUE = `
  WITH RECURSIVE turn AS (
    (SELECT account::text AS account, 1 AS n FROM submissions WHERE account > $1::text ORDER BY account LIMIT 1)
    UNION ALL
    SELECT next.account, t.n + 1 FROM turn t CROSS JOIN LATERAL (
      SELECT s.account::text AS account FROM submissions s WHERE s.account > t.account ORDER BY s.account LIMIT 1) next
    WHERE t.n < ${ACCOUNTS_A_ROUND}
  ), due AS MATERIALIZED (
    SELECT s.*, t.n FROM turn t CROSS JOIN LATERAL (
      SELECT transaction_id AS id, account, hash, sender, nonce::float8 FROM submissions s
      WHERE s.account = t.account AND s.check_at <= now() ORDER BY s.check_at LIMIT 1) s
    ORDER BY t.n LIMIT ${ROWS_A_ROUND}
  )
  SELECT CASE WHEN (SELECT count(*) FROM due) = ${ROWS_A_ROUND} THEN (SELECT account FROM due ORDER BY n DESC LIMIT 1)
    WHEN (SELECT count(*) FROM turn) = ${ACCOUNTS_A_ROUND} THEN (SELECT account FROM turn ORDER BY n DESC LIMIT 1)
    ELSE '' END AS next, due.id, due.hash, due.sender, due.nonce
  FROM (SELECT) one LEFT JOIN due ON true`;

/** Row: `LedgerChain`. Without finality, `final` is the lowest block to which the indexer goes back. */
export const LEDGER_CHAIN = `
  SELECT c.applied_number::float8 AS applied, b.hash,
    greatest(least(c.applied_number, coalesce(c.finalized_number, c.block_number - ${WINDOW_BLOCKS})), 0)::float8 AS final
  FROM chain_cursor c LEFT JOIN chain_blocks b ON b.number = c.applied_number`;

/**
 * Payments whose hashes were submitted after they had become separate deposits, as their amounts differ. Parameter: ids
 * of announced deposits. Rows: for each, the first payment of its transaction into its pool for its account.
 */
export const PAYMENTS = `
  SELECT d.id AS announced, d.pool_id AS pool, x.id, x.amount, x.tx_hash, x.block_number, x.log_index, x.confirmed_at,
    x.gas_used, x.gas_price, x.l1_fee
  FROM submissions s JOIN transactions d ON d.id = s.transaction_id CROSS JOIN LATERAL (
    SELECT t.* FROM transactions t
    JOIN chain_events e ON e.block_number = t.block_number AND e.log_index = t.log_index
    WHERE t.tx_hash = s.hash AND t.pool_id = d.pool_id AND t.account = d.account AND t.type = 'DEPOSIT'
      AND t.requested_amount IS NULL AND t.amount > 0 AND e.ref IS DISTINCT FROM '${COMPOUNDED}'
    ORDER BY t.log_index LIMIT 1) x
  WHERE s.transaction_id = ANY($1::uuid[]) AND d.status <> 'CONFIRMED'`;
/**
 * Confirms announced deposits by their payments. Parameter: ids of the deposits. Rows: ids of the payments, which are
 * removed afterwards, as the balance without both could be negative.
 */
export const TAKE_PAYMENTS = `
  WITH paid AS MATERIALIZED (${PAYMENTS}), event AS (
    UPDATE chain_events e SET transaction_id = p.announced
    FROM paid p WHERE e.block_number = p.block_number AND e.log_index = p.log_index
  ), confirmed AS (
    UPDATE transactions t SET status = 'CONFIRMED', amount = p.amount, tx_hash = p.tx_hash,
      block_number = p.block_number, log_index = p.log_index, confirmed_at = p.confirmed_at, gas_used = p.gas_used,
      gas_price = p.gas_price, l1_fee = p.l1_fee
    FROM paid p WHERE t.id = p.announced
  )
  SELECT id FROM paid`;
export const REMOVE_PAYMENTS = 'DELETE FROM transactions WHERE id = ANY($1::uuid[])';

/**
 * Stores what was found, unless another hash was told meanwhile, or the ledger has left the block that it was asked
 * about. Where the ledger lacks events of the contract, or holds one of the transaction that has no effect, nothing is
 * decided. What no node knows may still be mined, however long ago it was seen, unless its payer has taken it back before
 * any node was seen to have it. Row: how many were taken back.
 * Parameters: ids, hashes, verdicts, senders, nonces; number and hash of that block.
 */
export const CONCLUDE = `
  WITH found AS MATERIALIZED (
    SELECT s.transaction_id AS id, f.verdict, f.sender, f.nonce, f.verdict = 'open' AS known, s.checks < 0 AS taken_back,
      CASE WHEN s.known = (f.verdict = 'open') THEN greatest(s.checks, 0) + 1 ELSE 1 END AS checks
    FROM (
      SELECT id, hash, CASE WHEN EXISTS (SELECT FROM transactions t JOIN pools p ON p.id = t.pool_id
          WHERE t.id = g.id AND ${isApart('p.contract_address')})
          OR EXISTS (SELECT FROM chain_events e WHERE e.tx_hash = g.hash AND e.outcome NOT IN ('WAITING', 'APPLIED'))
          THEN 'undecided' ELSE verdict END AS verdict,
        sender, nonce
      FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::bigint[]) AS g(id, hash, verdict, sender, nonce)
    ) f
    JOIN submissions s ON s.transaction_id = f.id AND s.hash = f.hash
    WHERE EXISTS (SELECT FROM chain_blocks b WHERE b.number = $6 AND b.hash = $7)
    FOR UPDATE OF s
  ), over AS MATERIALIZED (
    SELECT id FROM found WHERE verdict = 'over' OR verdict = 'unknown' AND taken_back
  ), gone AS (
    DELETE FROM submissions s USING over WHERE s.transaction_id = over.id
  ), kept AS (
    UPDATE submissions s SET known = CASE f.verdict WHEN 'undecided' THEN s.known ELSE f.known END,
      checks = CASE f.verdict WHEN 'undecided' THEN s.checks ELSE least(f.checks, 100) END,
      check_at = now() + make_interval(secs => CASE f.verdict WHEN 'undecided' THEN ${FIRST_WAIT_S}
        ELSE least(${FIRST_WAIT_S} * power(2, least(f.checks, 30) - 1), ${LONGEST_WAIT_S}) END),
      sender = coalesce(f.sender, s.sender), nonce = coalesce(f.nonce, s.nonce)
    FROM found f WHERE s.transaction_id = f.id AND f.id NOT IN (SELECT id FROM over)
  )
  SELECT count(*)::int AS over FROM over`;
