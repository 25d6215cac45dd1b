import { TYPE_WITH_CIRCLES } from '#values/types';
import type { ReadableRow } from '#platform/errors/readable';
import { statement } from '#platform/postgres/statement';
import { LAST_BLOCK, holdsCircles } from '#ledger/chain/chain.sql';
import { isReader } from '#features/pools/pools.sql';
import {
  CALL_JOINS,
  type DepositRow,
  IS_CURRENT,
  type PoolToCall,
  poolToCall,
} from '#extensions/payments/calls.sql';

const OF_POOL = `
  LEFT JOIN circles c ON c.pool_id = p.id AND c.contract = p.contract_address
  LEFT JOIN circle_rounds r ON r.contract = c.contract AND r.circle_id = c.circle_id AND r.round = c.rounds_ended
  LEFT JOIN circle_members m ON m.contract = c.contract AND m.circle_id = c.circle_id AND m.account = :caller
  LEFT JOIN ${LAST_BLOCK} last ON true`;

/** SQL: who may see a circle: readers of its pool, and its members. */
const READABLE = `(m.account IS NOT NULL OR ${isReader('p.id', ':caller')})`;

/** SQL: what the circle gives back of what member `m` locked and paid, once it is over. */
const REFUND = `CASE WHEN c.state IN ('COMPLETED', 'CANCELLED') THEN m.collateral + m.paid - m.refunded ELSE 0 END`;
const PAYOUT = 'm.won - m.paid_out';

/**
 * SQL: why the contract would refuse a call of the caller's to the circle in the block after the last one that was read;
 * null if it would not. In the order in which the calls come.
 */
const REFUSALS = {
  join: `CASE WHEN m.account IS NULL THEN 'forbidden' WHEN m.joined_at IS NOT NULL THEN 'already_done'
    WHEN c.state <> 'JOINING' THEN 'wrong_circle_state' WHEN last.time > c.join_by THEN 'too_late' END`,
  contribute: `CASE WHEN m.account IS NULL THEN 'forbidden' WHEN c.state <> 'RUNNING' THEN 'wrong_circle_state'
    WHEN m.paid > 0 THEN 'already_done' WHEN last.time >= c.round_end THEN 'too_late' END`,
  payout: `CASE WHEN coalesce(${PAYOUT}, 0) = 0 THEN 'nothing_in_circle' END`,
  refund: `CASE WHEN c.state NOT IN ('COMPLETED', 'CANCELLED') THEN 'wrong_circle_state'
    WHEN coalesce(${REFUND}, 0) = 0 THEN 'nothing_in_circle' END`,
  endRound: `CASE WHEN c.state <> 'RUNNING' THEN 'wrong_circle_state'
    WHEN r.paid_count = c.places OR last.time >= c.round_end THEN NULL ELSE 'too_early' END`,
  cancel: `CASE WHEN c.state <> 'JOINING' THEN 'wrong_circle_state'
    WHEN c.organiser = :caller OR last.time > c.join_by THEN NULL ELSE 'too_early' END`,
};
export type CircleAction = keyof typeof REFUSALS;
type Refusal =
  'wrong_circle_state' | 'already_done' | 'too_early' | 'too_late' | 'nothing_in_circle' | 'forbidden';

export const CIRCLE_ACTIONS = ['open', ...(Object.keys(REFUSALS) as CircleAction[])] as const;

const CAN = [
  `CASE WHEN c.circle_id IS NULL AND u.address = :caller AND ${holdsCircles('p')} THEN 'open' END`,
  ...Object.entries(REFUSALS).map(
    ([name, why]) => `CASE WHEN c.circle_id IS NOT NULL AND ${why} IS NULL THEN '${name}' END`,
  ),
].join(', ');

const ROUND = `json_build_object('round', t.round, 'account', t.account, 'paidCount', t.paid_count, 'endsAt', iso(t.ends_at),
  'pot', t.pot::text, 'endedAt', iso(t.ended_at))`;
const MEMBER = `json_build_object('account', o.account, 'place', o.place, 'joinedAt', iso(o.joined_at),
  'collateral', o.collateral::text, 'paid', o.paid > 0, 'missed', o.missed, 'received', o.paid_out::text)`;
const CIRCLE = `json_build_object('circleId', c.circle_id, 'contract', c.contract, 'state', c.state, 'organiser', c.organiser,
  'contribution', c.contribution::text, 'collateral', c.collateral::text, 'period', c.period, 'places', c.places,
  'joinBy', iso(c.join_by), 'openedAt', iso(c.opened_at),
  'currentRound', CASE c.state WHEN 'RUNNING' THEN c.rounds_ended END, 'roundEnd', iso(c.round_end),
  'rounds', (SELECT json_agg(${ROUND} ORDER BY t.round) FROM circle_rounds t
    WHERE t.contract = c.contract AND t.circle_id = c.circle_id),
  'members', (SELECT json_agg(${MEMBER} ORDER BY o.place) FROM circle_members o
    WHERE o.contract = c.contract AND o.circle_id = c.circle_id))`;
const MINE = `json_build_object('place', m.place, 'joined', m.joined_at IS NOT NULL, 'collateral', m.collateral::text,
  'paid', m.paid > 0, 'missed', m.missed, 'payout', (${PAYOUT})::text, 'refund', (${REFUND})::text,
  'received', (m.paid_out + m.refunded)::text)`;

/** No row: the pool does not exist, or is of a type without circles. Data null: the caller may not read it. */
export const POOL_ROUNDS = statement<{ pool: string; caller: string }, ReadableRow & { hasCircles: boolean }>(
  'pool_rounds',
  { pool: 'uuid', caller: 'text' },
  `
    SELECT p.type = '${TYPE_WITH_CIRCLES}' AS "hasCircles", CASE WHEN ${READABLE} THEN json_build_object('poolId', p.id,
      'circle', CASE WHEN c.circle_id IS NOT NULL THEN ${CIRCLE} END,
      'mine', CASE WHEN m.account IS NOT NULL THEN ${MINE} END,
      'can', array_remove(ARRAY[${CAN}], NULL))::text END AS data
    FROM pools p JOIN users u ON u.id = p.owner_id ${OF_POOL}
    WHERE p.id = :pool`,
  { onStandby: true, chargedTo: 'caller' },
);

export interface CircleToCall extends PoolToCall, DepositRow {
  isOwner: boolean;
  /** Whether the ledger is at the head, and has the contract's events up to there. */
  isCurrent: boolean;
  /** Null, as what follows, while the pool has no circle. */
  circleId: string | null;
  contribution: string | null;
  collateral: string | null;
  refusals: Record<CircleAction, Refusal | null>;
  /** Of the last block, in seconds. */
  now: number;
}

/** No row: the pool does not exist. */
export const CIRCLE_TO_CALL = statement<
  { pool: string; caller: string; transaction: string | null },
  CircleToCall
>(
  'circle_to_call',
  { pool: 'uuid', caller: 'text', transaction: 'uuid' },
  `
    SELECT ${poolToCall(READABLE)}, u.address = :caller AS "isOwner", ${IS_CURRENT} AS "isCurrent",
      c.circle_id AS "circleId", c.contribution::text, c.collateral::text,
      json_build_object(${Object.entries(REFUSALS)
        .map(([name, why]) => `'${name}', ${why}`)
        .join(', ')}) AS refusals,
      coalesce(extract(epoch FROM last.time), 0)::float8 AS now
    FROM pools p JOIN users u ON u.id = p.owner_id ${OF_POOL} ${CALL_JOINS}
    WHERE p.id = :pool`,
  { chargedTo: 'caller' },
);
