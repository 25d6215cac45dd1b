import type { Client } from 'pg';
import { columnsOf } from '#platform/postgres/columns';
import type { DrawKind } from '#ledger/adapters/happening';
import type { ChainEvent } from '#indexer/reading/decode';
import { DRAW_CHANGES, type Decision, type EventOutcome, isDrawKind } from './decide';

const kindsThat = (...changes: string[]): string =>
  Object.entries(DRAW_CHANGES)
    .flatMap(([kind, change]) => (changes.includes(change) ? `'${kind}'` : []))
    .join(', ');

/** SQL, here and below: $1 and $2 are the contracts and ids of draws. */
const WANTED = `unnest($1::text[], $2::bigint[]) AS w(contract, draw_id)`;

/** Applied events of the draws. `draw_id` is numeric in chain_events, as a contract may use any uint64. */
const EVENTS = `
  ${WANTED} JOIN chain_events e
    ON e.contract = w.contract AND e.draw_id = w.draw_id::numeric AND e.outcome = 'APPLIED'`;

const DELETE_DRAWS = `
  DELETE FROM lottery_draws d USING ${WANTED} WHERE d.contract = w.contract AND d.draw_id = w.draw_id`;
/** Parameter 3, here and below: the accounts to include; null means all. */
const DELETE_TICKETS = `
  DELETE FROM lottery_tickets t USING ${WANTED} WHERE t.contract = w.contract AND t.draw_id = w.draw_id
    AND ($3::text[] IS NULL OR t.account = ANY($3))`;
const MAKE_TICKETS = `
  INSERT INTO lottery_tickets (contract, draw_id, account, tickets, paid_in, refunded)
  SELECT w.contract, w.draw_id, e.account, ${['tickets', 'paidIn', 'refunded']
    .map((change) => `coalesce(sum(e.amount) FILTER (WHERE e.kind IN (${kindsThat(change)})), 0)`)
    .join(', ')}
  FROM ${EVENTS} WHERE e.kind IN (${kindsThat('tickets', 'paidIn', 'refunded')})
    AND ($3::text[] IS NULL OR e.account = ANY($3))
  GROUP BY 1, 2, 3`;

/** Creates draws that were opened. `SET_STAGES` has to follow. */
const MAKE_DRAWS = `
  INSERT INTO lottery_draws (contract, draw_id, status, ticket_price, prize_pool, participants, total_tickets, draw_time)
  SELECT DISTINCT ON (w.contract, w.draw_id) w.contract, w.draw_id, 'ACTIVE', e.amount,
    t.paid_in, t.participants, t.tickets, e.draw_time
  FROM ${EVENTS} AND e.kind = 'DrawOpened'
  CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE tickets > 0) AS participants, coalesce(sum(tickets), 0) AS tickets,
      coalesce(sum(paid_in), 0) AS paid_in
    FROM lottery_tickets
    WHERE contract = w.contract AND draw_id = w.draw_id) t
  ORDER BY w.contract, w.draw_id, e.block_number, e.log_index`;

/**
 * Adds what accounts did. The cost does not depend on how many tickets a draw has already. Parameters, one for each
 * event: contract, draw id, account, what it changes, amount.
 */
const ADD_TO_DRAWS = `
  WITH added AS MATERIALIZED (
    SELECT contract, draw_id, account, ${Object.entries({
      tickets: 'tickets',
      paidIn: 'paid_in',
      refunded: 'refunded',
    })
      .map(([change, column]) => `coalesce(sum(amount) FILTER (WHERE change = '${change}'), 0) AS ${column}`)
      .join(', ')}
    FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::numeric[])
      AS a(contract, draw_id, account, change, amount)
    GROUP BY 1, 2, 3
  ), sums AS MATERIALIZED (
    SELECT a.contract, a.draw_id, sum(a.tickets) AS tickets, sum(a.paid_in) AS paid_in,
      count(*) FILTER (WHERE a.tickets > 0 AND coalesce(t.tickets, 0) = 0) AS participants
    FROM added a LEFT JOIN lottery_tickets t USING (contract, draw_id, account) GROUP BY 1, 2
  ), held AS (
    INSERT INTO lottery_tickets AS t (contract, draw_id, account, tickets, paid_in, refunded)
    SELECT contract, draw_id, account, tickets, paid_in, refunded FROM added
    ON CONFLICT ON CONSTRAINT lottery_tickets_pkey DO UPDATE SET tickets = t.tickets + excluded.tickets,
      paid_in = t.paid_in + excluded.paid_in, refunded = t.refunded + excluded.refunded
  )
  UPDATE lottery_draws d SET prize_pool = d.prize_pool + s.paid_in, total_tickets = d.total_tickets + s.tickets,
    participants = d.participants + s.participants
  FROM sums s WHERE d.contract = s.contract AND d.draw_id = s.draw_id`;

/** SQL: the few events of a draw that set its stage. Their kinds have to be among those of chain_events_draw_stage_idx. */
const STAGES = `chain_events e WHERE e.contract = w.contract AND e.draw_id = w.draw_id::numeric
      AND e.outcome = 'APPLIED' AND e.kind IN (${kindsThat('stage')})`;

/** Sets status, winner, payout and the block that picks the winner. */
const SET_STAGES = `
  UPDATE lottery_draws d SET
    status = CASE WHEN c.account IS NOT NULL THEN 'COMPLETED' WHEN s.cancelled THEN 'CANCELLED'
      WHEN s.closed IS NOT NULL THEN 'DRAWING' ELSE 'ACTIVE' END,
    winner = c.account, prize = c.amount, drawn_at = c.block_time,
    winner_tickets = CASE WHEN c.account IS NOT NULL THEN coalesce(t.tickets, 0) END,
    pick_block = s.closed + 1, paid = coalesce(s.paid, false)
  FROM ${WANTED}
  CROSS JOIN LATERAL (
    SELECT bool_or(e.kind = 'DrawCancelled') AS cancelled, bool_or(e.kind = 'PrizePaid') AS paid,
      max(e.block_number) FILTER (WHERE e.kind = 'DrawClosed') AS closed
    FROM ${STAGES}) s
  LEFT JOIN LATERAL (
    SELECT e.account, e.amount, e.block_time
    FROM ${STAGES} AND e.kind = 'DrawCompleted'
    ORDER BY e.block_number DESC, e.log_index DESC LIMIT 1) c ON true
  LEFT JOIN lottery_tickets t
    ON t.contract = w.contract AND t.draw_id = w.draw_id AND t.account = c.account
  WHERE d.contract = w.contract AND d.draw_id = w.draw_id`;

/** Draw ids are unique within a contract only. */
interface DrawKey {
  contract: string;
  drawId: string;
}

/** Events that were taken back. */
export interface Undone {
  contract: string;
  drawId: string | null;
  circleId: string | null;
  /** Set for events of draws. */
  account: string | null;
  outcome: EventOutcome;
  count: number;
}

const keyOf = ({ contract, drawId }: DrawKey): string => `${contract} ${drawId}`;
const once = (draws: DrawKey[]): DrawKey[] => [...new Map(draws.map((each) => [keyOf(each), each])).values()];
const isDrawEvent = (event: ChainEvent): event is ChainEvent & { drawId: string; kind: DrawKind } =>
  event.drawId !== null && isDrawKind(event.kind);

/** Each draw once. A draw whose events were all refused has no row. */
export const drawsOf = (undone: Undone[]): DrawKey[] =>
  once(
    undone.flatMap(({ contract, drawId, outcome }) =>
      drawId !== null && outcome === 'APPLIED' ? { contract, drawId } : [],
    ),
  );

const keys = (draws: DrawKey[]): string[][] => columnsOf(draws, 'contract', 'drawId');

/** Updates draws with applied events, which have to be in chain_events already. */
export async function applyToDraws(client: Client, decisions: Decision[]): Promise<void> {
  const applied = decisions.flatMap(({ event, outcome }) =>
    outcome === 'APPLIED' && isDrawEvent(event) ? { ...event, change: DRAW_CHANGES[event.kind] } : [],
  );
  if (applied.length === 0) return;
  // Events from before the opening found no row to be added to.
  const opened = once(applied.filter(({ change }) => change === 'draw'));
  await rebuildDraws(client, opened);
  const made = new Set(opened.map(keyOf));
  const added = applied.filter((event) => event.change !== 'stage' && !made.has(keyOf(event)));
  if (added.length > 0)
    await client.query(ADD_TO_DRAWS, columnsOf(added, 'contract', 'drawId', 'account', 'change', 'amount'));
  await client.query(SET_STAGES, keys(once(applied)));
}

/**
 * Computes draws again from all their events. Undoing single events gave wrong results in random tests.
 * @param accounts that have lost or gained events; null if any account may have
 */
export async function rebuildDraws(
  client: Client,
  draws: DrawKey[],
  accounts: (string | null)[] | null = null,
): Promise<void> {
  if (draws.length === 0) return;
  for (const statement of [DELETE_TICKETS, MAKE_TICKETS])
    await client.query(statement, [...keys(draws), accounts]);
  for (const statement of [DELETE_DRAWS, MAKE_DRAWS, SET_STAGES]) await client.query(statement, keys(draws));
}
