import { type CircleState, TYPE_WITH_CIRCLES } from '#values/types';
import type { ReadableRow } from '#platform/errors/readable';
import { statement } from '#platform/postgres/statement';
import { HEAD, KNOWN_CHAIN, LAST_BLOCK, holdsCircles, isApart, tokenOf } from '#ledger/chain/chain.sql';
import { isReader } from '#features/pools/pools.sql';
import { submitted } from '#features/pools/unpaid.sql';
import type { DepositRow, PoolToCall } from '#extensions/payments/calls.sql';

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

/** SQL: the calls that the contract accepts from the caller in the block after the last one that was read. */
const CAN = {
  open: `c.circle_id IS NULL AND u.address = :caller AND ${holdsCircles('p')}`,
  join: `c.state = 'JOINING' AND m.joined_at IS NULL AND m.account IS NOT NULL AND last.time <= c.join_by`,
  contribute: `c.state = 'RUNNING' AND m.paid = 0 AND last.time < c.round_end`,
  payout: `${PAYOUT} > 0`,
  refund: `${REFUND} > 0`,
  endRound: `c.state = 'RUNNING' AND (r.paid_count = c.places OR last.time >= c.round_end)`,
  cancel: `c.state = 'JOINING' AND (c.organiser = :caller OR last.time > c.join_by)`,
};
/** In the order in which they come. */
export const CIRCLE_ACTIONS = Object.keys(CAN) as (keyof typeof CAN)[];

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
      'can', array_remove(ARRAY[${CIRCLE_ACTIONS.map(
        (name) => `CASE WHEN ${CAN[name]} THEN '${name}' END`,
      ).join(', ')}], NULL))::text END AS data
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
  state: CircleState | null;
  contribution: string | null;
  collateral: string | null;
  isOrganiser: boolean | null;
  isMember: boolean;
  joined: boolean;
  paid: boolean;
  payout: string;
  refund: string;
  /** As of the last block: whether the time for joining is over, and that of the round, and whether all have paid. */
  joinEnded: boolean;
  roundOver: boolean;
  allPaid: boolean;
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
    SELECT ${READABLE} AS readable, u.address = :caller AS "isOwner", p.contract_address AS contract,
      (SELECT k.minimum::text FROM chain_contracts k WHERE k.type = p.type::text AND k.address = p.contract_address) AS minimum,
      ${holdsCircles('p')} AS "holdsCircles", chain.*, ${tokenOf('p.contract_address')} AS token,
      coalesce(head."isAtHead", false) AND NOT ${isApart('p.contract_address')} AS "isCurrent",
      c.circle_id AS "circleId", c.state, c.contribution::text, c.collateral::text, c.organiser = :caller AS "isOrganiser",
      m.account IS NOT NULL AS "isMember", m.joined_at IS NOT NULL AS joined, coalesce(m.paid > 0, false) AS paid,
      coalesce(${PAYOUT}, 0)::text AS payout, coalesce(${REFUND}, 0)::text AS refund,
      coalesce(last.time > c.join_by, false) AS "joinEnded", coalesce(last.time >= c.round_end, false) AS "roundOver",
      coalesce(r.paid_count = c.places, false) AS "allPaid", coalesce(extract(epoch FROM last.time), 0)::float8 AS now,
      t.account, t.status, t.amount::text, coalesce(${submitted('t')} IS NOT NULL, false) AS "isSubmitted"
    FROM pools p JOIN users u ON u.id = p.owner_id ${OF_POOL}
    LEFT JOIN ${KNOWN_CHAIN} chain ON true LEFT JOIN ${HEAD} head ON true
    LEFT JOIN transactions t ON t.id = :transaction AND t.pool_id = p.id AND t.type = 'DEPOSIT'
    WHERE p.id = :pool`,
  { chargedTo: 'caller' },
);
