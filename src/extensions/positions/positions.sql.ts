import type { ReadableRow } from '#platform/errors/readable';
import { statement } from '#platform/postgres/statement';
import { CONTRACTS_APART, EFFECTIVE_BLOCK, isCompounding, shareYieldOf } from '#ledger/chain/chain.sql';
import { isReader } from '#features/pools/pools.sql';

/** The contract's SCALE, 2^128: rates are multiplied by it. */
const SCALE = `${2n ** 128n}::numeric`;

/**
 * Yield of position `o` from the accruals since its last change, with the contract's rounding (SavingsPool._earned).
 * `f` is the first of these accruals, absent if there is none; its yield follows from the position's weight. The yield
 * of all later accruals follows from the balance, which did not change.
 *
 * This arithmetic also stands in contracts/SavingsPool.sol, src/indexer/ledger/positions.ts and
 * src/verify/checks/yield-model.ts (which explains it): a change to one is a change to all four.
 */
const UNSETTLED = `
  coalesce(div((o.balance * f.time - o.weight_offset) * f.per_weight, ${SCALE})
    + div(o.balance * (w.last_per_unit - f.per_unit), ${SCALE}), 0)`;
export const ACCRUED = `
  LEFT JOIN pool_weights w ON w.pool_id = o.pool_id
  LEFT JOIN accrual_rates f ON f.pool_id = o.pool_id AND f.number = o.accruals + 1
  CROSS JOIN LATERAL (SELECT o.owed + ${UNSETTLED} AS claimable OFFSET 0) y`;

/** SQL: with what the account's shares of a vault have earned, beside `v` of `shareYieldOf`. */
export const CLAIMABLE = 'y.claimable + coalesce(v.claimable, 0)';
const amount = (name: string, value = `o.${name}`): string => `'${name}', coalesce(${value}, 0)::text`;
/**
 * SQL: the amount, or null where only the contract knows what its accounts have earned: it has calls of its own, and has
 * told neither accruals nor, as a vault, a price.
 */
const amountIfKnown = (name: string, value: string, pool: string): string => `
    '${name}', CASE WHEN v.claimable IS NULL AND coalesce(w.accruals, 0) = 0 AND EXISTS (
        SELECT FROM pools own JOIN chain_contracts k ON k.address = own.contract_address
        WHERE own.id = ${pool} AND (k.calls IS NOT NULL OR k.pools_by <> 'reference'))
      THEN NULL ELSE coalesce(${value}, 0)::text END`;
const position = (pool: string): string => `
  json_build_object('poolId', ${pool}, 'address', :caller, ${amount('deposited')}, ${amount('withdrawn')},
    ${amount('balance')}, ${amountIfKnown('earned', `o.claimed + ${CLAIMABLE}`, pool)}, ${amount('claimed')},
    ${amountIfKnown('claimable', CLAIMABLE, pool)}, 'compounding', ${isCompounding(pool, ':caller')}, 'blockNumber', coalesce(a.number, b.number),
    'blockTime', iso(CASE WHEN a.number IS NULL THEN b.time ELSE a.time END))`;

/** SQL: the last block whose events of the pool's contract count, if that is before `b`, the ledger's: it is read apart. */
const earlierBlockOf = (pool: string): string => `
  (SELECT c.number, c.time FROM ${CONTRACTS_APART} c JOIN pools own ON own.contract_address = c.address
   WHERE own.id = ${pool} AND c.number < b.number)`;

/** No row: the pool does not exist. Data null: the caller may not read the pool and never paid into it. */
export const POOL_POSITION = statement<{ pool: string; caller: string }, ReadableRow>(
  'pool_position',
  { pool: 'uuid', caller: 'text' },
  `
    SELECT CASE WHEN o.pool_id IS NOT NULL OR ${isReader('p.id', ':caller')}
      THEN ${position('p.id')}::text END AS data
    FROM pools p LEFT JOIN ${EFFECTIVE_BLOCK} b ON true LEFT JOIN LATERAL ${earlierBlockOf('p.id')} a ON true
    LEFT JOIN positions o ON o.pool_id = p.id AND o.address = :caller
    ${ACCRUED} ${shareYieldOf('p.id', ':caller')}
    WHERE p.id = :pool`,
  { onStandby: true, chargedTo: 'caller' },
);

export const LIST_POSITIONS = statement<
  { caller: string; limit: number; offset: number },
  { total: number; data: string }
>(
  'list_positions',
  { caller: 'text', limit: 'bigint', offset: 'bigint' },
  `
    SELECT (SELECT count(*)::int FROM positions WHERE address = :caller) AS total,
      coalesce(json_agg(${position('o.pool_id')} ORDER BY o.pool_id DESC), '[]')::text AS data
    FROM (
      SELECT * FROM positions WHERE address = :caller ORDER BY pool_id DESC LIMIT :limit OFFSET :offset
    ) o
    LEFT JOIN ${EFFECTIVE_BLOCK} b ON true LEFT JOIN LATERAL ${earlierBlockOf('o.pool_id')} a ON true
    ${ACCRUED} ${shareYieldOf('o.pool_id', ':caller')}`,
  { onStandby: true, chargedTo: 'caller' },
);
