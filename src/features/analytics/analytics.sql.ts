import { POOL_TYPES } from '#values/types';
import { statement } from '#platform/postgres/statement';
import { OTHER_CONTRACTS, OTHER_TOKENS } from '#ledger/chain/chain.sql';

const ofFirst = 'contract <> ALL(others.contracts)';
const ofOther = 'contract = ANY(o.contracts)';
const OTHERS = `(SELECT ${OTHER_CONTRACTS} AS contracts OFFSET 0) others`;

/** SQL: the sum of all deposits of the address in the first token, including pending ones. */
export const depositedBy = (address: string): string =>
  `(SELECT coalesce(sum(deposited), 0) FROM account_days WHERE address = ${address} AND contract <> ALL(${OTHER_CONTRACTS}))`;

const TOKEN = `'token', o.token, 'symbol', o.symbol, 'decimals', o.decimals`;
/** SQL: the mean rate in percent, by the sums over pools. */
const MEAN = `coalesce(trim_scale(round(sum(apr_bps) / nullif(sum(pools), 0) / 100, 2)), 0)`;

/** SQL: one row, the sums over the pools of some contracts. */
const pools = (where: string): string => `
  (SELECT coalesce(sum(deposited), 0)::text AS deposited, coalesce(sum(pending), 0)::text AS pending,
    coalesce(sum(yield), 0)::text AS yield, ${MEAN} AS apr, coalesce(sum(pools), 0)::bigint AS pools
   FROM pool_totals WHERE ${where})`;
const POOL_SUMS = `'totalDeposits', s.deposited, 'pendingDeposits', s.pending, 'totalYield', s.yield, 'averageAPR', s.apr`;

/** Reads stored totals, so the cost does not grow with the number of pools. */
export const POOL_ANALYTICS = statement<object, { data: string }>(
  'pool_analytics',
  {},
  `
    SELECT json_build_object(
      'totalPools', c.pools,
      ${POOL_SUMS},
      'byType', c.by_type,
      'otherTokens', (SELECT coalesce(json_agg(json_build_object(${TOKEN}, 'totalPools', s.pools, ${POOL_SUMS}) ORDER BY o.token), '[]')
        FROM ${OTHER_TOKENS} o CROSS JOIN LATERAL ${pools(ofOther)} s))::text AS data
    FROM ${OTHERS} CROSS JOIN LATERAL ${pools(ofFirst)} s CROSS JOIN (
      SELECT coalesce(sum(pools), 0)::bigint AS pools, json_build_object(
        ${POOL_TYPES.map(
          (type) => `'${type}', coalesce(sum(pools) FILTER (WHERE type = '${type}'), 0)::bigint`,
        ).join(`,
        `)}) AS by_type
      FROM pool_totals) c`,
  { onStandby: true },
);

/** SQL: one row, what user `u` has paid and earned at some contracts. */
const days = (where: string): string => `
  (SELECT coalesce(sum(deposited), 0)::text AS deposited, coalesce(sum(pending), 0)::text AS pending,
    coalesce(sum(claimed), 0)::text AS claimed,
    coalesce(json_agg(json_build_object('date', day, 'amount', deposited::text)) FILTER (WHERE deposited > 0), '[]') AS deposits,
    coalesce(json_agg(json_build_object('date', day, 'amount', claimed::text)) FILTER (WHERE claimed > 0), '[]') AS yields,
    count(*) AS days
   FROM (
    SELECT day, sum(deposited) AS deposited, sum(pending) AS pending, sum(claimed) AS claimed
    FROM account_days WHERE address = u.address AND ${where} GROUP BY day ORDER BY day
   ) days)`;
/** SQL: one row, the pools of user `u` at some contracts. */
const owned = (where: string): string => `
  (SELECT coalesce(sum(yield), 0)::text AS yield, coalesce(sum(active), 0) AS active, ${MEAN} AS apr,
    coalesce(sum(pools), 0) AS pools
   FROM owner_totals WHERE owner_id = u.id AND ${where})`;
const USER_SUMS = `
  'totalDeposited', d.deposited, 'pendingDeposits', d.pending, 'totalYield', p.yield, 'yieldEarned', d.claimed,
  'averageAPR', p.apr, 'chartData', json_build_object('deposits', d.deposits, 'yields', d.yields)`;

export const USER_ANALYTICS = statement<{ user: string }, { data: string }>(
  'user_analytics',
  { user: 'uuid' },
  `
    SELECT json_build_object(
      'activePoolsCount', (SELECT coalesce(sum(active), 0) FROM owner_totals WHERE owner_id = u.id),
      'joinedAt', iso(u.created_at),
      ${USER_SUMS},
      'otherTokens', CASE others.contracts WHEN '{}' THEN '[]' ELSE (
        SELECT coalesce(json_agg(json_build_object(${TOKEN}, 'activePoolsCount', p.active, ${USER_SUMS}) ORDER BY o.token), '[]')
        FROM ${OTHER_TOKENS} o CROSS JOIN LATERAL ${days(ofOther)} d CROSS JOIN LATERAL ${owned(ofOther)} p
        WHERE d.days > 0 OR p.pools > 0) END)::text AS data
    FROM users u CROSS JOIN ${OTHERS} CROSS JOIN LATERAL ${days(ofFirst)} d CROSS JOIN LATERAL ${owned(ofFirst)} p
    WHERE u.id = :user`,
  { onStandby: true, chargedTo: 'user' },
);
