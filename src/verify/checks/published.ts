import { compareDerived, following } from './compare';
import type { Look } from './look';

/** A little less than the outbox keeps its rows, which is seven days. */
const KEPT = `interval '6 days 23 hours'`;

const described = (fields: Record<string, string>): string =>
  `jsonb_strip_nulls(jsonb_build_object(${Object.entries(fields)
    .map(([name, value]) => `'${name}', ${value}`)
    .join(', ')}))`;
const TOPIC = `coalesce(CASE WHEN num_nonnulls(e.circle_id, e.shares) > 0 AND e.amount = 0 THEN NULL
  WHEN e.kind IN ('Deposited', 'Joined', 'Contributed') THEN 'deposit.confirmed'
  WHEN e.kind IN ('Withdrawn', 'PaidOut', 'CircleRefunded') THEN 'withdrawal.confirmed'
  WHEN e.kind = 'YieldClaimed' THEN 'yield.claimed' WHEN e.kind = 'YieldAccrued' THEN 'yield.accrued' END,
  draw_topic(e.kind), circle_topic(e.kind))`;
const when = (kinds: string, column: string): string =>
  `CASE WHEN e.kind IN (${kinds}) THEN e.${column}::text END`;
const DRAWS = 'e.draw_id IS NOT NULL';
const CIRCLES = 'circle_topic(e.kind) IS NOT NULL';
/** SQL: what has to be published of event `e`, besides its topic. */
const FIELDS = {
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
};
const EVENT = described({ topic: TOPIC, ...FIELDS });

/** SQL: what the outbox has published, of events in blocks. */
const PUBLISHED = `
  SELECT (i ->> 'blockNumber')::bigint AS block, ${described({
    topic: `coalesce(i ->> 'reverted', i ->> 'topic')`,
    ...Object.fromEntries(Object.keys(FIELDS).map((name) => [name, `i ->> '${name}'`])),
  })} AS what, CASE i ->> 'topic' WHEN 'transaction.reverted' THEN -1 ELSE 1 END AS times
  FROM outbox o
  CROSS JOIN LATERAL json_array_elements(CASE json_typeof(o.items) WHEN 'array' THEN o.items ELSE '[]' END) i
  WHERE i ->> 'blockNumber' IS NOT NULL`;

/**
 * The events that the outbox must have are those from a block on: an event is published when it is applied, so later than
 * its block was made. As long as nothing was removed, the outbox has all but history, of which no event is published.
 * Events come at least once, so one that was published too often is no fault: a row that was put back by hand is
 * published again. Parameter: limit. Row: block, what, how often it was published and should have been, subjects.
 */
const COMPARE_PUBLISHED = `
  WITH reach AS MATERIALIZED (
    SELECT greatest(c.published_from, CASE WHEN (r.xid, r.position) > ('0'::xid8, 0) THEN (
      SELECT e.block_number + 1 FROM chain_events e WHERE e.block_time <= now() - ${KEPT}
      ORDER BY e.block_number DESC LIMIT 1) END, 0) AS first
    FROM (SELECT 1) one LEFT JOIN chain_cursor c ON true LEFT JOIN outbox_removed r ON true
  ), published AS (
    SELECT block, what, sum(times) AS published FROM (${PUBLISHED}) o
    WHERE block >= (SELECT first FROM reach) GROUP BY 1, 2
  ), applied AS (
    SELECT e.block_number AS block, ${EVENT} AS what, count(*) AS applied FROM chain_events e
    WHERE e.block_number >= (SELECT first FROM reach) AND e.outcome = 'APPLIED' AND ${TOPIC} IS NOT NULL GROUP BY 1, 2
  )
  SELECT block, what::text, coalesce(published, 0)::int AS published, coalesce(applied, 0)::int AS applied,
    array_remove(ARRAY[what ->> 'poolId', (what ->> 'contract') || ' ' || (what ->> 'drawId')], NULL) AS subjects
  FROM published FULL JOIN applied USING (block, what)
  WHERE coalesce(published, 0) < coalesce(applied, 0) OR applied IS NULL AND published > 0 ORDER BY block LIMIT $1`;

/** Rows whose count is not the number of their events. */
const COUNTS = following({
  table: 'outbox',
  key: ['xid', 'position'],
  values: {
    count: `CASE json_typeof(t.items) WHEN 'array' THEN coalesce(nullif(json_array_length(t.items), 0), t.count) ELSE t.count END`,
  },
  where: 'true',
});

interface Published {
  block: string;
  what: string;
  published: number;
  applied: number;
  subjects: string[];
}

/** Differences that one run reports at most. */
const MOST_DIFFERING = 10_000;

/** Compares what the outbox has published of the chain's events, as far as it still has that, with the events that apply. */
export async function comparePublished(look: Look): Promise<void> {
  await compareDerived(look, [COUNTS]);
  const differing = await look.rows<Published>(COMPARE_PUBLISHED, MOST_DIFFERING);
  const times = (count: number, what: string): string | null =>
    count === 0 ? null : `published ${count} times: ${what}`;
  look.findings.doubt(
    differing.map(({ block, what, published, applied, subjects }) => ({
      kind: 'outbox.items',
      id: block,
      found: times(published, what),
      wanted: times(applied, what),
      // Without an event, what was published may have been right.
      subjects: published > applied ? subjects : [],
    })),
  );
}
