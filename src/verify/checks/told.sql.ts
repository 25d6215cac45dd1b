/** A little less than the outbox keeps its rows, which is seven days. */
const KEPT = `interval '6 days 23 hours'`;
/** The end of history, of which no event is published. */
const PUBLISHED_FROM = `(SELECT published_from FROM chain_cursor)`;
/**
 * Row: the first block whose events the outbox must have, and the transactions whose rows are complete. An event is told
 * when it is applied, so later than its block was made. As long as nothing was removed, the outbox has all but history.
 */
export const REACH = `
  SELECT greatest(${PUBLISHED_FROM}, CASE WHEN (r.xid, r.position) > ('0'::xid8, 0) THEN (
      SELECT e.block_number + 1 FROM chain_events e WHERE e.block_time <= now() - ${KEPT}
      ORDER BY e.block_number DESC LIMIT 1) END, 0)::text AS first,
    outbox_xid(pg_snapshot_xmin(pg_current_snapshot()))::text AS until
  FROM (SELECT 1) one LEFT JOIN outbox_removed r ON true`;

const described = (fields: Record<string, string>): string =>
  `jsonb_strip_nulls(jsonb_build_object(${Object.entries(fields)
    .map(([name, value]) => `'${name}', ${value}`)
    .join(', ')}))`;
const FIELDS = [
  ...[
    'poolId',
    'transactionId',
    'drawId',
    'circleId',
    'contract',
    'txHash',
    'blockNumber',
    'logIndex',
    'round',
  ],
  ...['account', 'amount', 'tickets', 'winner', 'prize'],
];
const told = (rows: string): string => `
  SELECT (i ->> 'blockNumber')::bigint AS block, ${described({
    topic: `coalesce(i ->> 'reverted', i ->> 'topic')`,
    ...Object.fromEntries(FIELDS.map((name) => [name, `i ->> '${name}'`])),
  })} AS what, CASE i ->> 'topic' WHEN 'transaction.reverted' THEN -1 ELSE 1 END AS told
  FROM (${rows}) o
  CROSS JOIN LATERAL json_array_elements(CASE json_typeof(o.items) WHEN 'array' THEN o.items ELSE '[]' END) i
  WHERE (i ->> 'blockNumber')::bigint >= `;

const TOPIC = `coalesce(CASE WHEN num_nonnulls(e.circle_id, e.shares) > 0 AND e.amount = 0 THEN NULL
  WHEN e.kind IN ('Deposited', 'Joined', 'Contributed') THEN 'deposit.confirmed'
  WHEN e.kind IN ('Withdrawn', 'PaidOut', 'CircleRefunded') THEN 'withdrawal.confirmed'
  WHEN e.kind = 'YieldClaimed' THEN 'yield.claimed' WHEN e.kind = 'YieldAccrued' THEN 'yield.accrued' END,
  draw_topic(e.kind), circle_topic(e.kind))`;
const when = (kinds: string, column: string): string =>
  `CASE WHEN e.kind IN (${kinds}) THEN e.${column}::text END`;
const DRAWS = 'e.draw_id IS NOT NULL';
const CIRCLES = 'circle_topic(e.kind) IS NOT NULL';
/** What has to be told of event `e`. */
const EVENT = described({
  topic: TOPIC,
  poolId: 'e.pool_id::text',
  transactionId: 'e.transaction_id::text',
  drawId: 'e.draw_id::text',
  circleId: `CASE WHEN ${CIRCLES} THEN e.circle_id::text END`,
  contract: `CASE WHEN ${DRAWS} OR ${CIRCLES} THEN e.contract END`,
  txHash: `CASE WHEN ${DRAWS} OR ${CIRCLES} OR e.transaction_id IS NOT NULL THEN e.tx_hash END`,
  blockNumber: 'e.block_number::text',
  logIndex: 'e.log_index::text',
  account: `CASE WHEN NOT ${DRAWS} OR e.kind IN ('TicketsIssued', 'PrizePaid', 'Refunded') THEN e.account END`,
  amount: `CASE WHEN NOT ${DRAWS} OR e.kind IN ('PrizePaid', 'Refunded') THEN e.amount::text END`,
  round: when(`'RoundEnded'`, 'place'),
  tickets: when(`'TicketsIssued'`, 'amount'),
  winner: when(`'DrawCompleted'`, 'account'),
  prize: when(`'DrawCompleted'`, 'amount'),
});
const HAS_TOPIC = `e.outcome = 'APPLIED' AND ${TOPIC} IS NOT NULL`;

/**
 * Takes what was told from the next rows. Parameters: the first block, xid and position to go on after, xid of the first
 * row that is left out, limit. Row: the last xid and position, and rows that hold another number of events than they say.
 */
export const TAKE_TOLD = `
  WITH looked AS MATERIALIZED (
    SELECT * FROM outbox WHERE (xid, position) > ($2::xid8, $3::bigint) AND xid < $4::xid8
    ORDER BY xid, position LIMIT $5
  ), kept AS (
    INSERT INTO verified_told SELECT block, what, sum(told), 0 FROM (${told('SELECT * FROM looked')} $1::bigint) t GROUP BY 1, 2
  ), wrong AS (
    SELECT concat_ws(' ', xid, position) AS id, 'count' AS "column", count::text AS kept,
      json_array_length(items)::text AS recount, xid, position
    FROM looked WHERE CASE json_typeof(items) WHEN 'array' THEN json_array_length(items) END NOT IN (0, count)
  )
  SELECT l.xid::text, l.position::text, coalesce((SELECT json_agg(w) FROM wrong w), '[]') AS differences
  FROM (SELECT xid, position FROM looked ORDER BY xid DESC, position DESC LIMIT 1) l`;
/** Parameters: xids, positions. */
export const REPAIR_COUNT = `
  UPDATE outbox o SET count = json_array_length(o.items)
  FROM unnest($1::xid8[], $2::bigint[]) AS w(xid, position) WHERE o.xid = w.xid AND o.position = w.position`;

/** Takes what should have been told. Parameters: block and log index to go on after, limit. Row: the last of these. */
export const TAKE_APPLIED = `
  WITH looked AS MATERIALIZED (
    SELECT * FROM chain_events WHERE (block_number, log_index) > ($1::bigint, $2::bigint)
    ORDER BY block_number, log_index LIMIT $3
  ), kept AS (
    INSERT INTO verified_told
    SELECT e.block_number, ${EVENT}, 0, count(*) FROM looked e WHERE ${HAS_TOPIC} GROUP BY 1, 2
  )
  SELECT block_number AS block, log_index AS index FROM looked ORDER BY block_number DESC, log_index DESC LIMIT 1`;

/** Events come at least once, so one that was told too often is no fault: a row that was put back by hand is published again. */
const differ = (told: string, applied: string): string =>
  `(${told} < ${applied} OR ${applied} = 0 AND ${told} > 0)`;

/**
 * What differs: once more against the events as they are now, and with what was told meanwhile, in one snapshot.
 * Parameters: the first block, xid of the first row that was left out, limit. Row: block, what, how often it was told and
 * should have been, subjects.
 */
export const COMPARE_TOLD = `
  WITH differing AS MATERIALIZED (
    SELECT block, what, sum(told) AS told FROM verified_told
    GROUP BY 1, 2 HAVING ${differ('sum(told)', 'sum(applied)')} ORDER BY block LIMIT $3
  ), later AS MATERIALIZED (
    SELECT block, what, sum(told) AS told
    FROM (${told('SELECT * FROM outbox WHERE xid >= $2::xid8')} $1::bigint) t GROUP BY 1, 2
  )
  SELECT d.block, d.what::text, n.told::int, n.applied::int,
    array_remove(ARRAY[d.what ->> 'poolId', (d.what ->> 'contract') || ' ' || (d.what ->> 'drawId')], NULL) AS subjects
  FROM differing d LEFT JOIN later l USING (block, what)
  CROSS JOIN LATERAL (SELECT d.told + coalesce(l.told, 0) AS told, (SELECT count(*) FROM chain_events e
    WHERE e.block_number = d.block AND ${HAS_TOPIC} AND ${EVENT} = d.what) AS applied) n
  -- History may have been read meanwhile.
  WHERE ${differ('n.told', 'n.applied')} AND d.block >= coalesce(${PUBLISHED_FROM}, 0) ORDER BY d.block`;
