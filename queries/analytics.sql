-- Named statements of analytics. Written by `npm run generate`.

-- src/features/analytics/analytics.sql.ts, on standbys where there are some
PREPARE pool_analytics AS
SELECT json_build_object(
  'totalPools', sum(pools)::bigint,
  'totalDeposits', sum(deposited)::text,
  'pendingDeposits', sum(pending)::text,
  'totalYield', sum(yield)::text,
  'averageAPR', coalesce(trim_scale(round(sum(apr_bps) / nullif(sum(pools), 0) / 100, 2)), 0),
  'byType', json_build_object(
    'individual', sum(pools) FILTER (WHERE type = 'individual')::bigint,
    'cooperative', sum(pools) FILTER (WHERE type = 'cooperative')::bigint,
    'lottery', sum(pools) FILTER (WHERE type = 'lottery')::bigint,
    'rotating', sum(pools) FILTER (WHERE type = 'rotating')::bigint))::text AS data
FROM pool_totals;

-- src/features/analytics/analytics.sql.ts, on standbys where there are some
-- $1 user uuid
PREPARE user_analytics AS
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
WHERE u.id = ($1::uuid);
