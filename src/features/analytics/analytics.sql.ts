import { POOL_TYPES } from '#values/types';
import { statement } from '#platform/postgres/statement';

/** SQL: the sum of all deposits of the address, including pending ones. */
export const depositedBy = (address: string): string =>
  `(SELECT coalesce(sum(deposited), 0) FROM account_days WHERE address = ${address})`;

export const POOL_ANALYTICS = statement<object, { data: string }>(
  'pool_analytics',
  {},
  `
    SELECT json_build_object(
      'totalPools', sum(pools)::bigint,
      'totalDeposits', sum(deposited)::text,
      'pendingDeposits', sum(pending)::text,
      'totalYield', sum(yield)::text,
      'averageAPR', coalesce(trim_scale(round(sum(apr_bps) / nullif(sum(pools), 0) / 100, 2)), 0),
      'byType', json_build_object(
        ${POOL_TYPES.map((type) => `'${type}', sum(pools) FILTER (WHERE type = '${type}')::bigint`).join(`,
        `)}))::text AS data
    FROM pool_totals`,
  { onStandby: true },
);

export const USER_ANALYTICS = statement<{ user: string }, { data: string }>(
  'user_analytics',
  { user: 'uuid' },
  `
    SELECT json_build_object(
      'totalDeposited', d.deposited::text,
      'pendingDeposits', d.pending::text,
      'totalYield', p.yield::text,
      'yieldEarned', d.claimed::text,
      'activePoolsCount', p.active,
      'averageAPR', p.apr,
      'joinedAt', iso(u.created_at),
      'chartData', json_build_object('deposits', d.deposits, 'yields', d.yields))::text AS data
    FROM users u
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(deposited), 0) AS deposited, coalesce(sum(pending), 0) AS pending,
        coalesce(sum(claimed), 0) AS claimed,
        coalesce(json_agg(json_build_object('date', day, 'amount', deposited::text)) FILTER (WHERE deposited > 0), '[]') AS deposits,
        coalesce(json_agg(json_build_object('date', day, 'amount', claimed::text)) FILTER (WHERE claimed > 0), '[]') AS yields
      FROM (
        SELECT day, sum(deposited) AS deposited, sum(pending) AS pending, sum(claimed) AS claimed
        FROM account_days WHERE address = u.address GROUP BY day ORDER BY day
      ) days
    ) d
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(yield), 0) AS yield, coalesce(sum(active), 0) AS active,
        coalesce(trim_scale(round(sum(apr_bps) / nullif(sum(pools), 0) / 100, 2)), 0) AS apr
      FROM owner_totals WHERE owner_id = u.id
    ) p
    WHERE u.id = :user`,
  { onStandby: true, chargedTo: 'user' },
);
