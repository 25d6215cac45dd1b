import { eventsAbi } from '#verify/contract/events.abi';
import { UNNUMBERED, ofName, standIn } from '#verify/contract/names.sql';

/** The kinds of events that name a pool, a draw, or a circle of a pool. Some numbered events have no effect. */
const kindsOf = (id: 'poolId' | 'drawId' | 'circleId'): string =>
  eventsAbi.flatMap(({ name, inputs: [first] }) => (first.name === id ? `'${name}'` : [])).join(', ');
const KNOWN = `(e.pool_id IS NOT NULL AND e.draw_id IS NULL AND e.circle_id IS NULL AND e.kind IN (${kindsOf('poolId')})
  OR e.pool_id IS NOT NULL AND e.draw_id IS NULL AND e.circle_id IS NOT NULL AND e.kind IN (${kindsOf('circleId')})
  OR e.pool_id IS NOT NULL AND e.pool_name IS NOT NULL AND e.draw_id IS NULL AND e.kind = 'PoolOpened'
  OR e.draw_id IS NOT NULL AND e.pool_id IS NULL AND e.kind IN (${kindsOf('drawId')})
  OR e.draw_id IS NULL AND e.pool_id IS NULL AND e.kind = '(nothing)')`;
/** Who joins a circle without collateral moves nothing, nor do shares that have earned nothing. */
const MOVES = `(e.kind IN ('Deposited', 'Withdrawn', 'YieldClaimed') AND (e.shares IS NULL OR e.amount > 0)
  OR e.kind IN ('Joined', 'Contributed', 'PaidOut', 'CircleRefunded') AND e.amount > 0)`;
/** The circle of pool `p`: the first that its owner has opened for it. */
const ITS_CIRCLE = `(SELECT o.circle_id FROM chain_events o JOIN users u ON u.id = p.owner_id
  WHERE o.kind = 'CircleOpened' AND o.pool_id = p.id AND o.contract = p.contract_address AND o.account = u.address
    AND o.circle_id <= 9007199254740991 AND o.outcome NOT IN ('WAITING', 'UNKNOWN_POOL', 'FAILED')
  ORDER BY o.block_number, o.log_index LIMIT 1)`;

/** The ledger row that an event should have. */
const MOVEMENT = `
  t.status = 'CONFIRMED' AND t.pool_id = e.pool_id AND t.account = e.account AND t.amount = e.amount
  AND t.tx_hash = e.tx_hash AND t.block_number = e.block_number AND t.log_index = e.log_index
  AND t.type = CASE WHEN e.kind IN ('Deposited', 'Joined', 'Contributed') THEN 'DEPOSIT'
    WHEN e.kind IN ('Withdrawn', 'PaidOut', 'CircleRefunded') THEN 'WITHDRAWAL'
    WHEN e.kind = 'YieldClaimed' THEN 'YIELD_CLAIM' END`;
const ACCRUAL = `y.amount = e.amount AND y.apr_bps = e.apr_bps`;

const KEY = `concat_ws(' ', e.block_number, e.log_index)`;
/** Whose derived data follows from event `e`: a pool, a draw. */
const subjects = (e: string): string =>
  `array_remove(ARRAY[${e}.pool_id::text, ${e}.contract || ' ' || ${e}.draw_id], NULL)`;
const OWN = subjects('e');

const BLOCK = `lpad(to_hex(e.block_number), 10, '0')`;
/** Whether row `t` was made by event `e`: its id ends with the event's block and log index. */
const IS_MADE = `(right(replace(t.id::text, '-', ''), 20) =
  '7' || substr(${BLOCK}, 1, 3) || '8' || substr(${BLOCK}, 4) || lpad(to_hex(e.log_index), 6, '0') || '00')`;

/** What can be wrong of one event. Each gives kind, id, wanted, found, subjects: whose repair has to wait. */
const WRONG = [
  // The numbers of a contract have no gaps, and begin at 1.
  `SELECT 'chain_events.seq', e.contract || ' ' || e.seq, (e.seq - 1)::text, e.before::text, ARRAY['*']
   FROM numbered e WHERE e.before <> e.seq - 1 AND NOT ${UNNUMBERED}`,
  // Without numbers, the place on the chain is one.
  `SELECT 'chain_events.seq', ${KEY}, (e.block_number * 4194304 + e.log_index)::text, e.seq::text, ARRAY['*']
   FROM batch e WHERE e.seq <> e.block_number * 4194304 + e.log_index AND ${UNNUMBERED}`,
  // The pool is the one that has the name.
  `SELECT 'chain_events.pool_id', ${KEY}, coalesce(n.pool_id, ${standIn('e')})::text, e.pool_id::text,
     ${OWN} || array_remove(ARRAY[n.pool_id::text], NULL)
   FROM batch e LEFT JOIN pool_names n ON ${ofName('n', 'e')}
   WHERE e.pool_name IS NOT NULL AND e.pool_id <> coalesce(n.pool_id, ${standIn('e')})
     AND (e.outcome <> 'WAITING' OR e.pool_id <> ${standIn('e')})`,
  // The chain's order is that of the numbers, and time does not fall.
  `SELECT 'chain_events.block_number', ${KEY}, 'after ' || concat_ws(' ', p.block_number, p.log_index), ${KEY},
     ${OWN} || ${subjects('p')}
   FROM batch e JOIN chain_events p ON p.contract = e.contract AND p.seq = e.seq - 1
   WHERE (p.block_number, p.log_index) >= (e.block_number, e.log_index)`,
  `SELECT 'chain_events.block_time', ${KEY}, 'not before ' || p.block_time, e.block_time::text, ${OWN} || ${subjects('p')}
   FROM batch e JOIN chain_events p ON p.contract = e.contract AND p.seq = e.seq - 1
   WHERE p.block_time > e.block_time AND p.block_number <= e.block_number`,
  // All events of a block say the same of it. The first one is found by the key.
  ...['block_time', 'block_hash'].map(
    (column) => `
   SELECT 'chain_events.${column}', ${KEY}, f.${column}::text, e.${column}::text, ${OWN} || ${subjects('f')}
   FROM batch e CROSS JOIN LATERAL (SELECT * FROM chain_events f WHERE f.block_number = e.block_number
     ORDER BY f.log_index LIMIT 1) f WHERE f.${column} <> e.${column}`,
  ),
  `SELECT 'chain_events.kind', ${KEY}, NULL, e.kind, ${OWN} FROM batch e WHERE e.outcome = 'APPLIED' AND NOT ${KNOWN}`,
  // The next batch takes up what waits, so nothing in effect does. A draw of a lottery has no reason to be refused.
  `SELECT 'chain_events.outcome', ${KEY}, 'in effect', e.outcome, ${OWN}
   FROM batch e CROSS JOIN chain_cursor c LEFT JOIN pools p ON p.id = e.pool_id
   WHERE e.outcome = 'WAITING' AND e.block_number <= c.applied_number
     OR e.outcome IN ('UNKNOWN_POOL', 'OVERDRAW') AND e.draw_id IS NOT NULL
     OR e.outcome = 'REFUSED' AND ${KNOWN} AND (p.contract_address = e.contract AND CASE WHEN e.circle_id IS NULL THEN e.amount IS NOT NULL
          ELSE e.circle_id = ${ITS_CIRCLE} END
       OR e.draw_id <= 9007199254740991
         AND EXISTS (SELECT FROM chain_contracts l WHERE l.type = 'lottery' AND l.address = e.contract))`,
  `SELECT 'chain_events.contract', ${KEY}, p.contract_address, e.contract, ${OWN}
   FROM batch e JOIN pools p ON p.id = e.pool_id WHERE e.outcome = 'APPLIED' AND p.contract_address <> e.contract`,
  `SELECT 'chain_events.circle_id', ${KEY}, ${ITS_CIRCLE}::text, e.circle_id::text, ${OWN}
   FROM batch e JOIN pools p ON p.id = e.pool_id
   WHERE e.outcome = 'APPLIED' AND e.circle_id IS NOT NULL AND e.circle_id IS DISTINCT FROM ${ITS_CIRCLE}`,
  `SELECT 'chain_events.reason', ${KEY}, CASE WHEN e.reason IS NULL THEN 'a reason' END, e.reason, ARRAY[]::text[]
   FROM batch e WHERE (e.reason IS NULL) <> (e.outcome IN ('WAITING', 'APPLIED'))`,
  `SELECT 'chain_events.transaction_id', ${KEY}, NULL, e.transaction_id::text, ${OWN}
   FROM batch e WHERE e.transaction_id IS NOT NULL AND (e.outcome <> 'APPLIED' OR NOT ${MOVES})`,
  // Each applied event has its row in the ledger.
  `SELECT 'chain_events.transaction', ${KEY}, e.transaction_id::text, CASE WHEN t.id IS NOT NULL THEN 'differs' END, ${OWN} || array_remove(ARRAY[t.pool_id::text], NULL)
   FROM batch e LEFT JOIN transactions t ON t.id = e.transaction_id
   WHERE e.outcome = 'APPLIED' AND ${MOVES} AND (${MOVEMENT}) IS NOT TRUE`,
  `SELECT 'chain_events.accrual', ${KEY}, e.amount::text, CASE WHEN y.pool_id IS NOT NULL THEN 'differs' END, ${OWN}
   FROM batch e LEFT JOIN yield_accruals y
     ON y.pool_id = e.pool_id AND y.block_number = e.block_number AND y.log_index = e.log_index
   WHERE e.outcome = 'APPLIED' AND e.kind = 'YieldAccrued' AND (${ACCRUAL}) IS NOT TRUE`,
  // A row made by its event has an id with the event's block and log index, and no requested amount. Others have one.
  `SELECT 'transactions.requested_amount', t.id::text, CASE WHEN t.requested_amount IS NULL THEN 'the amount requested' END,
     t.requested_amount::text, ${OWN}
   FROM batch e JOIN transactions t ON t.id = e.transaction_id
   WHERE e.outcome = 'APPLIED' AND ${MOVES}
     AND (t.requested_amount IS NULL) <> ${IS_MADE}`,
];

/** Events by their numbers. Parameters: contract and number to go on after, limit. Row: both as a key. */
export const NEXT_EVENTS = `
  SELECT contract || ' ' || seq AS key FROM chain_events
  WHERE (contract, seq) > ($1::text, $2::bigint) ORDER BY contract, seq LIMIT $3`;

/**
 * Checks each event alone and against the one before, the first one of its block, and its row in the ledger. Row: kind,
 * id, wanted, found, subjects. Parameters: contracts and numbers.
 */
export const COMPARE_EVENTS = `
  WITH batch AS MATERIALIZED (
    SELECT e.* FROM unnest($1::text[], $2::bigint[]) AS w(contract, seq)
    JOIN chain_events e ON e.contract = w.contract AND e.seq = w.seq
  ), numbered AS (
    SELECT contract, seq, coalesce(
      (SELECT max(p.seq) FROM chain_events p WHERE p.contract = b.contract AND p.seq < b.seq), 0) AS before FROM batch b
  ), wrong (kind, id, wanted, found, subjects) AS (
    ${WRONG.join('\n UNION ALL\n')}
  )
  SELECT * FROM wrong`;

/**
 * The other way round: rows of the ledger without an event, or with another time than their event's. Parameter: pool
 * ids. Row: kind, id, wanted, found, subjects.
 */
export const COMPARE_LEDGER_ROWS = `
  SELECT 'transactions.event' AS kind, t.id::text AS id, concat_ws(' ', t.block_number, t.log_index) AS wanted,
    e.outcome AS found, ARRAY[t.pool_id::text] AS subjects
  FROM transactions t LEFT JOIN chain_events e ON e.block_number = t.block_number AND e.log_index = t.log_index
  WHERE t.pool_id = ANY($1::uuid[]) AND t.status = 'CONFIRMED'
    AND (e.outcome = 'APPLIED' AND e.transaction_id = t.id AND e.pool_id = t.pool_id) IS NOT TRUE
  UNION ALL
  SELECT 'transactions.' || d."column", t.id::text, e.block_time::text, d.time::text, ARRAY[t.pool_id::text]
  FROM transactions t JOIN chain_events e ON e.block_number = t.block_number AND e.log_index = t.log_index
  CROSS JOIN LATERAL (VALUES ('confirmed_at', t.confirmed_at), ('created_at', t.created_at)) AS d("column", time)
  WHERE t.pool_id = ANY($1::uuid[]) AND t.status = 'CONFIRMED' AND d.time IS DISTINCT FROM e.block_time
    AND (d."column" = 'confirmed_at' OR t.requested_amount IS NULL)
  UNION ALL
  SELECT 'transactions.requested_amount', t.id::text, t.amount::text, t.requested_amount::text, ARRAY[]::text[]
  FROM transactions t WHERE t.pool_id = ANY($1::uuid[]) AND t.status <> 'CONFIRMED'
    AND t.requested_amount IS DISTINCT FROM t.amount
  UNION ALL
  SELECT 'yield_accruals.event', concat_ws(' ', y.pool_id, y.block_number, y.log_index),
    concat_ws(' ', y.block_number, y.log_index), e.outcome, ARRAY[y.pool_id::text]
  FROM yield_accruals y LEFT JOIN chain_events e ON e.block_number = y.block_number AND e.log_index = y.log_index
  WHERE y.pool_id = ANY($1::uuid[])
    AND (e.outcome = 'APPLIED' AND e.kind = 'YieldAccrued' AND e.pool_id = y.pool_id) IS NOT TRUE
  UNION ALL
  SELECT 'yield_accruals.accrued_at', concat_ws(' ', y.pool_id, y.block_number, y.log_index), e.block_time::text,
    y.accrued_at::text, ARRAY[y.pool_id::text]
  FROM yield_accruals y JOIN chain_events e ON e.block_number = y.block_number AND e.log_index = y.log_index
  WHERE y.pool_id = ANY($1::uuid[]) AND y.accrued_at <> e.block_time`;
