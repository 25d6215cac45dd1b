/** The last block in effect, or a later one whose events took effect before CONFIRMATIONS was raised. */
const EFFECTIVE = `
  SELECT *, coalesce((SELECT e.block_number FROM chain_events e
    WHERE e.block_number > c.applied_number AND e.outcome = 'APPLIED' ORDER BY e.block_number DESC LIMIT 1),
    c.applied_number) AS effective
  FROM chain_cursor c`;

/** The block where a contract that is read apart ends, null for the others. Its last event may be behind its position. */
const lastBlockOf = (contract: string): string => `
  (SELECT greatest(a.block_number, (SELECT e.block_number FROM chain_events e
    WHERE e.contract = a.address ORDER BY e.seq DESC LIMIT 1))
   FROM chain_contracts_apart a WHERE a.address = ${contract})`;

/** The conditions have to be those of the partial indexes. */
const setAside = (outcomes: string): string => `
  SELECT e.account, CASE e.kind WHEN 'Deposited' THEN e.amount WHEN 'Withdrawn' THEN -e.amount END FROM chain_events e
  WHERE e.pool_id = p.id AND ${outcomes} AND e.contract = p.contract_address
    AND e.kind IN ('Deposited', 'Withdrawn') AND e.block_number <= c.effective`;

/** The first accrual that position `o` has not taken part in, with the last one's rate; null if there is none. */
const UNSETTLED = `
  SELECT json_build_object('time', f.time::text, 'perWeight', f.per_weight::text, 'perUnit', f.per_unit::text,
    'lastPerUnit', w.last_per_unit::text)
  FROM pool_weights w JOIN accrual_rates f ON f.pool_id = w.pool_id AND f.number = o.accruals + 1
  WHERE w.pool_id = o.pool_id`;

/** Deposits less withdrawals of the accounts of pool `p`, row by row. */
const MOVED = `
  SELECT t.account, CASE t.type WHEN 'DEPOSIT' THEN t.amount WHEN 'WITHDRAWAL' THEN -t.amount END AS amount
  FROM transactions t
  WHERE t.pool_id = p.id AND t.status = 'CONFIRMED' AND t.type IN ('DEPOSIT', 'WITHDRAWAL')
  UNION ALL
  ${setAside(`e.outcome = 'UNKNOWN_POOL'`)}
  UNION ALL
  ${setAside(`e.outcome IN ('OVERDRAW', 'REFUSED', 'FAILED')`)}`;

const OVER = `c.state IN ('COMPLETED', 'CANCELLED')`;
/** The circle of pool `p`, with what its contract must tell of its members. */
const CIRCLE = `(SELECT json_build_object('id', c.circle_id::text, 'members', coalesce((
    SELECT json_agg(json_build_object('account', m.account, 'payout', (m.won - m.paid_out)::text,
      'refund', (CASE WHEN ${OVER} THEN m.collateral + m.paid - m.refunded ELSE 0 END)::text))
    FROM circle_members m WHERE m.contract = c.contract AND m.circle_id = c.circle_id AND m.account = ANY(p.accounts)), '[]'))
  FROM circles c WHERE c.pool_id = p.id AND c.contract = p.contract_address)`;

/** Pools, and the accounts that have positions in them. Parameters: pool and account to go on after, limit. Row: key. */
export const NEXT_VALUES = `
  SELECT key FROM (
    (SELECT id::text AS key FROM pools WHERE id > $1::uuid ORDER BY id LIMIT $3)
    UNION ALL
    (SELECT pool_id || ' ' || address FROM positions WHERE (pool_id, address) > ($1::uuid, $2::text)
     ORDER BY pool_id, address LIMIT $3)
  ) following ORDER BY key COLLATE "C" LIMIT $3`;

/**
 * What the chain must say at the last block in effect: of accounts, confirmed deposits less withdrawals, and events set
 * aside, which moved money on the chain but not in the ledger; of a pool, their sum. Also the positions, unless the pool
 * has events that are still to be applied. Parameters: pools, and accounts of them, each null for the pool itself. Rows,
 * of the same snapshot as the cursor: pool, contract, total if the pool itself was named, accounts with amount and
 * position, cursor.
 */
export const LEDGER_HOLDINGS = `
  WITH c AS MATERIALIZED (${EFFECTIVE}
  ), asked AS MATERIALIZED (
    SELECT p.id, p.contract_address, bool_or(w.account IS NULL) AS is_itself, array_agg(w.account) AS accounts
    FROM unnest($1::uuid[], $2::text[]) AS w(pool, account) JOIN pools p ON p.id = w.pool GROUP BY p.id
  ), holders AS MATERIALIZED (
    SELECT p.id, h.* FROM asked p CROSS JOIN c CROSS JOIN LATERAL (
      SELECT coalesce(l.account, o.account) AS account, l.amount, o.position FROM (
        SELECT account::text AS account, sum(amount)::text AS amount FROM (${MOVED}) m
        WHERE account = ANY(p.accounts) GROUP BY 1
      ) l FULL JOIN (
        SELECT o.address AS account, json_build_object('balance', o.balance::text, 'offset', o.weight_offset::text, 'owed', o.owed::text, 'first', (${UNSETTLED})) AS position
        FROM positions o WHERE o.pool_id = p.id AND o.address = ANY(p.accounts) AND NOT EXISTS (SELECT FROM chain_events e
          WHERE e.pool_id = p.id AND e.outcome = 'UNKNOWN_POOL' AND e.contract = p.contract_address)
      ) o ON o.account = l.account) h
  )
  SELECT p.id, p.contract_address AS contract, c.block_number AS "cursorNumber", c.block_hash AS "cursorHash",
    least(greatest(c.effective, 0), ${lastBlockOf('p.contract_address')}) AS block,
    CASE WHEN p.is_itself THEN (SELECT coalesce(sum(amount), 0)::text FROM (${MOVED}) m) END AS total,
    (SELECT json_build_object('name', n.name, 'isNamed', k.pools_by <> 'reference', 'balance', k.balance_view, 'total', k.total_view)
      FROM chain_contracts k LEFT JOIN pool_names n ON n.pool_id = p.id
      WHERE k.address = p.contract_address AND (k.pools_by <> 'reference' OR k.balance_view IS NOT NULL OR k.total_view IS NOT NULL)
      LIMIT 1) AS others,
    coalesce((SELECT json_agg(json_build_object('account', account, 'amount', amount, 'position', position))
      FROM holders WHERE id = p.id), '[]') AS holders,
    coalesce(${CIRCLE}, to_json(coalesce((SELECT bool_or(k.circles) FROM chain_contracts k
      WHERE k.address = p.contract_address), false))) AS circle
  FROM asked p CROSS JOIN c`;

/** The contracts that are followed. Parameters: the address to go on after, limit. */
export const NEXT_CONTRACTS =
  'SELECT DISTINCT address FROM chain_contracts WHERE address > $1 ORDER BY 1 LIMIT $2';
/** Row: contract, number of the last event read and block up to which, cursor. Parameter: contracts. */
export const LAST_EVENTS = `
  SELECT f.contract, coalesce(e.seq, 0)::text AS seq,
    coalesce(${lastBlockOf('f.contract')}, c.block_number) AS block, c.block_number AS "cursorNumber", c.block_hash AS "cursorHash"
  FROM chain_cursor c CROSS JOIN (SELECT unnest($1::text[]) AS contract) f
  LEFT JOIN LATERAL (
    SELECT seq FROM chain_events e WHERE e.contract = f.contract ORDER BY seq DESC LIMIT 1) e ON true`;

/**
 * The shares that accounts have after all events that were read, and the block up to which these are; nothing for a
 * contract that is no vault. Parameters: vaults, accounts.
 */
export const HELD_SHARES = `
  SELECT w.vault, w.account, coalesce(h.shares, 0)::text AS shares,
    coalesce(${lastBlockOf('w.vault')}, c.block_number) AS block, c.block_number AS "cursorNumber", c.block_hash AS "cursorHash"
  FROM chain_cursor c CROSS JOIN unnest($1::text[], $2::text[]) AS w(vault, account)
  LEFT JOIN share_holdings h ON h.vault = w.vault AND h.account = w.account
  WHERE EXISTS (SELECT FROM chain_contracts k WHERE k.address = w.vault AND k.pools_by IN ('account', 'contract'))`;
