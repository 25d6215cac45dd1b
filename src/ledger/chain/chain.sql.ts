import type { PoolType } from '#values/types';
import { statement } from '#platform/postgres/statement';

/** If the heartbeat is older than this, no indexer is running. */
const STALE_BEAT_S = 15;
/** An indexer that runs but made no progress for this long cannot read its chain. */
const STALE_PROGRESS_S = 20;

const STALE = `(beat_at < now() - interval '${STALE_BEAT_S} seconds'
     OR progress_at < now() - interval '${STALE_PROGRESS_S} seconds')`;

export const CHAIN_STATE = statement<object, { state: string; stale: boolean; block: number }>(
  'chain_state',
  {},
  `SELECT state, ${STALE} AS stale, applied_number::float8 AS block FROM chain_cursor`,
);

/** SQL: whether every block up to the last head that was seen is applied, `isAtHead`; one row at most. */
export const HEAD = `
  (SELECT state = 'synced' AND applied_number >= head_number AND NOT ${STALE} AS "isAtHead" FROM chain_cursor)`;

/** SQL: whether the ledger may lack events of the contract up to the last block read: it is behind, or in quarantine. */
export const isApart = (contract: string): string =>
  `EXISTS (SELECT FROM chain_contracts_apart a WHERE a.address = ${contract})`;

/** SQL: whether the address has said on the chain that its yield in the pool is to be paid in again: its latest word. */
export const isCompounding = (pool: string, address: string): string => `
  coalesce((SELECT e.kind = 'CompoundingStarted' FROM chain_events e
    WHERE e.pool_id = ${pool} AND e.account = ${address} AND e.outcome = 'APPLIED'
      AND e.kind IN ('CompoundingStarted', 'CompoundingStopped')
    ORDER BY e.block_number DESC, e.log_index DESC LIMIT 1), false)`;

/** SQL: whether the contract of the pool `p` holds circles, as the indexer has read it. */
export const holdsCircles = (p: string): string => `
  coalesce((SELECT c.circles FROM chain_contracts c WHERE c.type = ${p}.type::text AND c.address = ${p}.contract_address), false)`;

/** SQL: the contracts of a type, `address` and `position`; the newest has the highest position. */
export const contractsOf = (type: PoolType): string =>
  `(SELECT address, position FROM chain_contracts WHERE type = '${type}')`;

/** SQL: whether the contract has the calls that its adapter names, and not those of the reference contracts. */
export const hasOwnCalls = (contract: string): string =>
  `(SELECT k.calls IS NOT NULL FROM chain_contracts k WHERE k.address = ${contract})`;

/** SQL: the chain, as the indexer has read it: one row, or none yet. */
export const KNOWN_CHAIN = `(SELECT chain_id AS "chainId" FROM chain_facts)`;

const isQuarantined = (contract: string): string =>
  `EXISTS (SELECT FROM chain_contracts_apart a WHERE a.address = ${contract} AND a.state = 'quarantined')`;

/** SQL: the token that the contract may be paid in; null until the indexer has read it, and while it is quarantined. */
export const tokenOf = (contract: string): string => `
  (SELECT k.token FROM chain_tokens k WHERE k.contract = ${contract} AND NOT ${isQuarantined('k.contract')})`;

/**
 * SQL: the contracts that are not known to have the first token: those of other tokens, whose sums are separate, and
 * those whose token was never read, which are in no sum.
 */
export const OTHER_CONTRACTS = `
  ARRAY(SELECT c.address FROM chain_contracts c UNION SELECT k.contract FROM chain_tokens k
    EXCEPT SELECT k.contract FROM chain_tokens k JOIN chain_facts f ON k.token = f.token_address)`;

/** SQL: the other tokens, each with its contracts. */
export const OTHER_TOKENS = `
  (SELECT k.token, min(k.symbol) AS symbol, min(k.decimals) AS decimals, array_agg(k.contract) AS contracts
   FROM chain_tokens k JOIN chain_facts f ON k.token <> f.token_address GROUP BY k.token)`;

/** SQL: the last block up to which the ledger is final; null while nobody says which block is. */
export const FINALIZED = '(SELECT finalized_number FROM chain_cursor)';

/** SQL: the time of the last block that was read. */
export const LAST_BLOCK_TIME = '(SELECT block_time FROM chain_cursor)';
/** SQL: number and time of the last block that was read: one row, or none yet. */
export const LAST_BLOCK = '(SELECT block_number AS number, block_time AS time FROM chain_cursor)';

const REFERENCE_CALLS = ['deposit', 'withdraw', 'claim', 'compounding'] as const;
/** Calls by which money comes into a pool. */
const PAYING_IN = `'{deposit,join,contribute}'::text[]`;
const CIRCLE_CALLS = ['open', 'join', 'contribute', 'payout', 'refund', 'endRound', 'cancel'] as const;
/** The calls that the service may build for a pool: the last parts of /pools/:id/calls/… */
export const POOL_CALLS = [...REFERENCE_CALLS, ...CIRCLE_CALLS] as const;
export type PoolCall = (typeof POOL_CALLS)[number];
const asJson = (calls: readonly PoolCall[]): string => `'${JSON.stringify(calls)}'::jsonb`;
/** SQL: those for the pools of contract `c`. Nothing is paid into one that is quarantined. */
const CALLS = `
  (CASE WHEN circles THEN ${asJson(CIRCLE_CALLS)}
    WHEN calls IS NOT NULL THEN
      (SELECT coalesce(jsonb_agg(c.name ORDER BY c.name), '[]') FROM jsonb_object_keys(calls) AS c(name))
    WHEN pools_by <> 'reference' THEN '[]' ELSE ${asJson(REFERENCE_CALLS)} END)
  - CASE WHEN ${isQuarantined('c.address')} THEN ${PAYING_IN} ELSE '{}' END`;

export const CHAIN_FACTS = statement<
  object,
  {
    chainId: string;
    address: string | null;
    symbol: string;
    decimals: number;
    minimums: Partial<Record<PoolType, string | null>> | null;
    calls: Record<string, PoolCall[]> | null;
    byAccount: string[] | null;
    tokens: Record<string, { address: string; symbol: string; decimals: number }> | null;
  }
>(
  'chain_facts',
  {},
  `SELECT chain_id AS "chainId", token_address AS address, token_symbol AS symbol, token_decimals AS decimals,
     (SELECT json_object_agg(type, minimum::text) FROM (
       SELECT DISTINCT ON (type) type, minimum FROM chain_contracts ORDER BY type, position DESC) c) AS minimums,
     (SELECT json_object_agg(address, calls) FROM (SELECT DISTINCT address, ${CALLS} AS calls FROM chain_contracts c) c) AS calls,
     (SELECT json_agg(DISTINCT address ORDER BY address) FROM chain_contracts WHERE pools_by = 'account') AS "byAccount",
     (SELECT json_object_agg(contract, json_build_object('address', token, 'symbol', symbol, 'decimals', decimals))
       FROM chain_tokens) AS tokens
   FROM chain_facts`,
);
/**
 * SQL: number and time of the last block whose events count; no row before any does. Its time is null if it is below
 * the last block read and its header was not stored.
 */
export const EFFECTIVE_BLOCK = `
  (SELECT c.applied_number AS number, CASE c.applied_number WHEN c.block_number THEN c.block_time ELSE b.time END AS time
   FROM chain_cursor c LEFT JOIN chain_blocks b ON b.number = c.applied_number WHERE c.applied_number >= 0)`;

/**
 * SQL: the contracts whose events are read apart, with number and time of the last block up to which they were. Its last
 * event may be behind the place from where it is read on.
 */
export const CONTRACTS_APART = `
  (SELECT a.address, greatest(a.block_number, e.number) AS number,
     CASE WHEN e.number > a.block_number THEN e.time ELSE a.block_time END AS time
   FROM chain_contracts_apart a LEFT JOIN LATERAL (SELECT block_number AS number, block_time AS time
     FROM chain_events WHERE contract = a.address ORDER BY seq DESC LIMIT 1) e ON true)`;

/** A price is what so many shares are worth: many more than anybody has, so that the price is exact for all holdings. */
export const PRICED_SHARES = 10n ** 36n;

/** A yearly rate is computed from prices that are at least so far apart, and at most MOST_DAYS. */
const LEAST_TIME = "interval '1 day'";
/** Days of which the last price is kept, before the newest. */
export const MOST_DAYS = 7;
/** Hundredths of a percent: more than 100,000 % a year is a price that was wrong. */
const MOST_APR = 10_000_000;
const YEAR_S = 365 * 86_400;

const RATE = `(SELECT least(greatest(round((s.price / nullif(o.price, 0) - 1) * ${YEAR_S}
      / extract(epoch FROM s.block_time - o.block_time) * 10000), 0), ${MOST_APR})::bigint
    FROM (SELECT * FROM share_prices WHERE vault = s.vault ORDER BY day LIMIT 1) o
    WHERE o.block_time <= s.block_time - ${LEAST_TIME})`;

/** SQL: joins `v`, by the newest price: what shares that were joined as `h` have earned and can be taken, and the yearly rate. */
const earned = (pool: string, holding: string): string => `
  LEFT JOIN LATERAL (
    SELECT greatest(div(coalesce(h.shares, 0) * s.price, ${PRICED_SHARES}::numeric) - coalesce(h.cost, 0), 0) AS claimable,
      ${RATE} AS apr_bps
    FROM pool_names n
    JOIN LATERAL (SELECT * FROM share_prices WHERE vault = n.contract ORDER BY day DESC LIMIT 1) s ON true
    ${holding}
    WHERE n.pool_id = ${pool} AND (SELECT EXISTS (SELECT FROM share_prices))
  ) v ON true`;

/**
 * SQL: what a vault's pool has earned: its account, or all who have something of the vault that is one pool. Nulls for pools
 * of other contracts, which costs nothing where no vault is followed, and before there is a price.
 */
export const shareYield = (pool: string): string =>
  earned(
    pool,
    `LEFT JOIN LATERAL (
      SELECT shares, cost FROM share_holdings WHERE vault = n.contract AND account = n.name AND n.name <> n.contract
      UNION ALL SELECT shares, cost FROM share_totals WHERE vault = n.contract AND n.name = n.contract
    ) h ON true`,
  );

/** SQL: the same of an account in the pool. */
export const shareYieldOf = (pool: string, account: string): string =>
  earned(
    pool,
    `LEFT JOIN share_holdings h ON h.vault = n.contract AND h.account = ${account} AND n.name IN (h.account, n.contract)`,
  );

/** SQL: what the pool `p` has earned, beside `v` of `shareYield`. What shares of a vault have earned is in no sum. */
export const totalYield = (p: string, v: string): string =>
  `coalesce(${p}.claimed_yield + ${v}.claimable, ${p}.total_yield)`;
export const aprBps = (p: string, v: string): string => `coalesce(${v}.apr_bps, ${p}.apr_bps)`;
