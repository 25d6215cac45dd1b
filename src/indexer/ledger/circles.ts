import type { Client } from 'pg';
import { columnsOf } from '#platform/postgres/columns';

/** SQL: the circle of pool `p`, as decimal digits; null if it has none. */
export const CIRCLE_OF_POOL = `
  (SELECT c.circle_id::text FROM circles c WHERE c.pool_id = p.id AND c.contract = p.contract_address)`;

/** Columns. In the statements below, $1 and $2 are the contracts and ids of circles. */
const TABLES = {
  circles: `contract, circle_id, pool_id, organiser, contribution, collateral, period, places, join_by, state, rounds_ended,
    round_end, opened_at`,
  circle_members:
    'contract, circle_id, account, place, joined_at, collateral, paid, missed, won, paid_out, refunded',
  circle_rounds: 'contract, circle_id, round, account, paid_count, ends_at, pot, ended_at',
};

/** SQL: a sum of amounts, zero if there are none. */
const sum = (condition: string): string => `coalesce(sum(amount) FILTER (WHERE ${condition}), 0)`;
const TAKEN = `kind IN ('Contributed', 'CollateralUsed')`;

/**
 * Common table expressions with the rows of the tables, as the applied events say: `events`, and `made_` and the name of
 * each table.
 */
const RECOUNT = `
  WITH events AS MATERIALIZED (
    SELECT e.* FROM unnest($1::text[], $2::numeric[]) AS w(contract, circle_id)
    JOIN chain_events e ON e.contract = w.contract AND e.circle_id = w.circle_id WHERE e.outcome = 'APPLIED'
  ), stages AS (
    SELECT contract, circle_id, count(*) FILTER (WHERE kind = 'RoundEnded') AS ended,
      bool_or(kind = 'CircleStarted') AS started, bool_or(kind = 'CircleCompleted') AS completed,
      bool_or(kind = 'CircleCancelled') AS cancelled,
      max(draw_time) FILTER (WHERE kind IN ('CircleStarted', 'RoundEnded')) AS round_end
    FROM events GROUP BY 1, 2
  ), made_circles AS (
    SELECT DISTINCT ON (e.contract, e.circle_id) e.contract, e.circle_id::bigint, e.pool_id, e.account AS organiser,
      e.amount AS contribution, e.collateral, e.period::integer, e.place::smallint AS places, e.draw_time AS join_by,
      s.state, s.ended::smallint AS rounds_ended, CASE s.state WHEN 'RUNNING' THEN s.round_end END AS round_end,
      e.block_time AS opened_at
    FROM events e JOIN (
      SELECT *, CASE WHEN cancelled THEN 'CANCELLED' WHEN completed THEN 'COMPLETED' WHEN started THEN 'RUNNING'
        ELSE 'JOINING' END AS state
      FROM stages) s USING (contract, circle_id)
    WHERE e.kind = 'CircleOpened' ORDER BY e.contract, e.circle_id, e.block_number, e.log_index
  ), sums AS (
    SELECT contract, circle_id, account, min(block_time) FILTER (WHERE kind = 'Joined') AS joined_at,
      ${sum(`kind = 'Joined'`)} - ${sum(`kind = 'CollateralUsed'`)} AS collateral,
      ${sum(`${TAKEN} AND place = s.ended`)} AS paid, count(*) FILTER (WHERE kind = 'CollateralUsed') AS missed,
      ${sum(`kind = 'RoundEnded'`)} AS won, ${sum(`kind = 'PaidOut'`)} AS paid_out,
      ${sum(`kind = 'CircleRefunded'`)} AS refunded
    FROM events e JOIN stages s USING (contract, circle_id) GROUP BY 1, 2, 3
  ), named AS (
    SELECT DISTINCT ON (contract, circle_id, place) contract, circle_id, place, account FROM events
    WHERE kind = 'MemberNamed' ORDER BY contract, circle_id, place, block_number, log_index
  ), made_circle_members AS (
    SELECT DISTINCT ON (n.contract, n.circle_id, n.account) n.contract, n.circle_id::bigint, n.account, n.place::smallint,
      s.joined_at, s.collateral, s.paid, s.missed::smallint, s.won, s.paid_out, s.refunded
    FROM named n JOIN made_circles c USING (contract, circle_id) JOIN sums s USING (contract, circle_id, account)
    ORDER BY n.contract, n.circle_id, n.account, n.place
  ), turns AS (
    SELECT contract, circle_id, place, count(DISTINCT account) FILTER (WHERE ${TAKEN}) AS paid_count,
      max(amount) FILTER (WHERE kind = 'RoundEnded') AS pot, max(block_time) FILTER (WHERE kind = 'RoundEnded') AS ended_at
    FROM events WHERE ${TAKEN} OR kind = 'RoundEnded' GROUP BY 1, 2, 3
  ), ends AS (
    SELECT contract, circle_id, CASE kind WHEN 'RoundEnded' THEN place + 1 WHEN 'CircleStarted' THEN 0 END AS place, max(draw_time) AS ends_at
    FROM events WHERE kind IN ('CircleStarted', 'RoundEnded') GROUP BY 1, 2, 3
  ), made_circle_rounds AS (
    SELECT n.contract, n.circle_id::bigint, n.place::smallint AS round, n.account,
      coalesce(t.paid_count, 0)::smallint AS paid_count, x.ends_at, t.pot, t.ended_at
    FROM named n JOIN made_circles c USING (contract, circle_id)
    LEFT JOIN turns t USING (contract, circle_id, place) LEFT JOIN ends x USING (contract, circle_id, place)
  )`;

const entries = Object.entries(TABLES);

const DELETE_CIRCLES = `
  WITH wanted AS (SELECT * FROM unnest($1::text[], $2::numeric[]) AS w(contract, circle_id)),
  ${entries
    .map(
      ([table]) => `gone_${table} AS (
    DELETE FROM ${table} t USING wanted w WHERE t.contract = w.contract AND t.circle_id = w.circle_id)`,
    )
    .join(',\n  ')}
  SELECT`;

const MAKE_CIRCLES = `
  ${RECOUNT}, ${entries
    .map(
      ([table, columns]) => `new_${table} AS (
    INSERT INTO ${table} (${columns}) SELECT ${columns} FROM made_${table})`,
    )
    .join(', ')}
  SELECT`;

/** Parameter: pool ids. */
const MEMBERS_OF_POOLS = `
  SELECT replace(c.pool_id::text, '-', '') AS pool, array_agg(m.account ORDER BY m.place) AS members
  FROM circles c JOIN circle_members m USING (contract, circle_id) WHERE c.pool_id = ANY($1::uuid[]) GROUP BY 1`;

/** The contract counts its circles. */
interface CircleKey {
  contract: string;
  circleId: string;
}

interface OfCircle {
  contract: string;
  circleId: string | null;
}

/** Each circle once. */
export function circlesOf(events: OfCircle[]): CircleKey[] {
  const circles = new Map<string, CircleKey>();
  for (const { contract, circleId } of events)
    if (circleId !== null) circles.set(`${contract} ${circleId}`, { contract, circleId });
  return [...circles.values()];
}

/**
 * Rebuilds circles from all their applied events, which have to be in chain_events already. A circle has at most 32
 * members and rounds, and so few events that nothing has to be added up on the way, or taken back.
 */
export async function makeCircles(client: Client, circles: CircleKey[]): Promise<void> {
  if (circles.length === 0) return;
  const keys = columnsOf(circles, 'contract', 'circleId');
  await client.query(DELETE_CIRCLES, keys);
  await client.query(MAKE_CIRCLES, keys);
}

/** The members of the circles of pools, by the pool's id as 32 hex digits. */
export async function membersOf(client: Client, pools: string[]): Promise<Map<string, string[]>> {
  const { rows } = await client.query<{ pool: string; members: string[] }>(MEMBERS_OF_POOLS, [pools]);
  return new Map(rows.map(({ pool, members }) => [pool, members]));
}
