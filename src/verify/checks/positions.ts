import type { Look } from './look';
import { type Model, type Rows, compareModel } from './model-rows';
import { type PoolEvent, YieldModel } from './yield-model';

/** Positions and what their yield is computed from. Parameter: pool ids. */
const POSITIONS: Model = {
  tables: {
    pool_weights: ['pool_id'],
    accrual_rates: ['pool_id', 'number'],
    positions: ['pool_id', 'address'],
  },
  of: 't.pool_id = ANY($1::uuid[])',
  by: 1,
  // Without the journal, the indexer reverts blocks by replaying.
  clear: 'DELETE FROM position_journal WHERE pool_id = ANY($1::uuid[])',
};

/**
 * What counts for a contract of pools, in the order of the chain: the confirmed ledger, and events of the pool's own
 * contract that are set aside. Parameter: pool ids.
 */
const EVENTS = `
  SELECT pool, kind, account, amount::text, extract(epoch FROM time)::bigint::text AS time, members
  FROM (
    SELECT t.pool_id AS pool, t.block_number, t.log_index, t.account, t.amount, t.confirmed_at AS time,
      CASE t.type WHEN 'DEPOSIT' THEN 'Deposited' WHEN 'WITHDRAWAL' THEN 'Withdrawn'
        WHEN 'YIELD_CLAIM' THEN 'YieldClaimed' END AS kind, NULL::text[] AS members
    FROM transactions t WHERE t.pool_id = ANY($1::uuid[]) AND t.status = 'CONFIRMED'
    UNION ALL
    SELECT y.pool_id, y.block_number, y.log_index, NULL, y.amount, y.accrued_at, 'YieldAccrued', NULL
    FROM yield_accruals y WHERE y.pool_id = ANY($1::uuid[])
    UNION ALL
    SELECT e.pool_id, e.block_number, e.log_index, e.account, e.amount, e.block_time,
      CASE WHEN e.kind IN ('Joined', 'Contributed') THEN 'Deposited'
        WHEN e.kind IN ('PaidOut', 'CircleRefunded') THEN 'Withdrawn' ELSE e.kind END, NULL
    FROM pools p JOIN chain_events e ON e.pool_id = p.id AND e.contract = p.contract_address
    WHERE p.id = ANY($1::uuid[]) AND e.outcome IN ('OVERDRAW', 'REFUSED', 'FAILED')
      AND (e.circle_id IS NULL AND (e.shares IS NULL OR e.amount > 0) OR e.kind <> 'RoundEnded' AND e.amount > 0 AND EXISTS (SELECT FROM chain_events o
        WHERE o.kind = 'CircleOpened' AND o.outcome = 'APPLIED' AND o.pool_id = p.id AND o.circle_id = e.circle_id))
    UNION ALL
    SELECT e.pool_id, e.block_number, e.log_index, e.account, e.amount, e.block_time, e.kind,
      (SELECT array_agg(n.account) FROM chain_events n WHERE n.contract = e.contract AND n.circle_id = e.circle_id
        AND n.kind = 'MemberNamed' AND n.outcome = 'APPLIED')
    FROM chain_events o JOIN chain_events e ON e.contract = o.contract AND e.circle_id = o.circle_id
    WHERE o.pool_id = ANY($1::uuid[]) AND o.kind = 'CircleOpened' AND o.outcome = 'APPLIED'
      AND e.kind = 'RoundEnded' AND e.outcome NOT IN ('WAITING', 'UNKNOWN_POOL')
  ) events ORDER BY pool, block_number, log_index`;

type Stored = Record<Exclude<keyof PoolEvent, 'members'>, string> & { members: string[] | null };

/**
 * Compares what accounts hold and have earned with a replay of the pools' events. Call it after the events and pools are
 * compared: they find the pools whose events are themselves in doubt, and these are left out.
 */
export const comparePositions = (look: Look, ids: string[]): Promise<void> =>
  compareModel(look, POSITIONS, ids, async (some) => {
    const model = new YieldModel();
    for await (const rows of look.stream<Stored>(EVENTS, some))
      for (const event of rows) {
        const kind = event.kind as PoolEvent['kind'];
        model.apply({ ...event, kind, amount: BigInt(event.amount ?? 0), time: BigInt(event.time) });
      }
    return rowsOf(model);
  });

/** The rows that the database should have for the state of the model. */
function rowsOf({ pools }: YieldModel): Rows {
  const all = [...pools].map(([pool_id, pool]) => ({ pool_id, ...pool }));
  return {
    pool_weights: all.map(({ pool_id, total, offset, accruals }) => {
      const { time = 0n, perUnit = 0n } = accruals.at(-1) ?? {};
      const last = { last_time: time, last_per_unit: perUnit };
      return { pool_id, total, weight_offset: offset, accruals: accruals.length, ...last };
    }),
    accrual_rates: all.flatMap(({ pool_id, accruals }) =>
      accruals.map(({ time, perWeight, perUnit }, i) => ({
        ...{ pool_id, number: i + 1, time },
        ...{ per_weight: perWeight, per_unit: perUnit },
      })),
    ),
    positions: all.flatMap(({ pool_id, accounts }) =>
      [...accounts].map(([address, { offset, ...account }]) => ({
        ...{ pool_id, address, weight_offset: offset },
        ...account,
      })),
    ),
  };
}
