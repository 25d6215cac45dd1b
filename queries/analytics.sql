-- Named statements of analytics. Written by `npm run generate`.

-- src/features/analytics/analytics.sql.ts, on standbys where there are some
PREPARE pool_analytics AS
  SELECT json_build_object(
    'totalPools', c.pools,
    'totalDeposits', s.deposited, 'pendingDeposits', s.pending, 'totalYield', s.yield, 'averageAPR', s.apr,
    'byType', c.by_type,
    'otherTokens', (SELECT coalesce(json_agg(json_build_object('token', o.token, 'symbol', o.symbol, 'decimals', o.decimals, 'totalPools', s.pools, 'totalDeposits', s.deposited, 'pendingDeposits', s.pending, 'totalYield', s.yield, 'averageAPR', s.apr) ORDER BY o.token), '[]')
      FROM
(SELECT k.token, min(k.symbol) AS symbol, min(k.decimals) AS decimals, array_agg(k.contract) AS contracts
 FROM chain_tokens k JOIN chain_facts f ON k.token <> f.token_address GROUP BY k.token) o CROSS JOIN LATERAL
(SELECT coalesce(sum(deposited), 0)::text AS deposited, coalesce(sum(pending), 0)::text AS pending,
  coalesce(sum(yield), 0)::text AS yield, coalesce(trim_scale(round(sum(apr_bps) / nullif(sum(pools), 0) / 100, 2)), 0) AS apr, coalesce(sum(pools), 0)::bigint AS pools
 FROM pool_totals WHERE contract = ANY(o.contracts)) s))::text AS data
  FROM (SELECT
ARRAY(SELECT c.address FROM chain_contracts c UNION SELECT k.contract FROM chain_tokens k
  EXCEPT SELECT k.contract FROM chain_tokens k JOIN chain_facts f ON k.token = f.token_address) AS contracts OFFSET 0) others CROSS JOIN LATERAL
(SELECT coalesce(sum(deposited), 0)::text AS deposited, coalesce(sum(pending), 0)::text AS pending,
  coalesce(sum(yield), 0)::text AS yield, coalesce(trim_scale(round(sum(apr_bps) / nullif(sum(pools), 0) / 100, 2)), 0) AS apr, coalesce(sum(pools), 0)::bigint AS pools
 FROM pool_totals WHERE contract <> ALL(others.contracts)) s CROSS JOIN (
    SELECT coalesce(sum(pools), 0)::bigint AS pools, json_build_object(
      'individual', coalesce(sum(pools) FILTER (WHERE type = 'individual'), 0)::bigint,
      'cooperative', coalesce(sum(pools) FILTER (WHERE type = 'cooperative'), 0)::bigint,
      'lottery', coalesce(sum(pools) FILTER (WHERE type = 'lottery'), 0)::bigint,
      'rotating', coalesce(sum(pools) FILTER (WHERE type = 'rotating'), 0)::bigint) AS by_type
    FROM pool_totals) c;

-- src/features/analytics/analytics.sql.ts, on standbys where there are some
-- $1 user uuid
PREPARE user_analytics AS
  SELECT json_build_object(
    'activePoolsCount', (SELECT coalesce(sum(active), 0) FROM owner_totals WHERE owner_id = u.id),
    'joinedAt', iso(u.created_at),

'totalDeposited', d.deposited, 'pendingDeposits', d.pending, 'totalYield', p.yield, 'yieldEarned', d.claimed,
'averageAPR', p.apr, 'chartData', json_build_object('deposits', d.deposits, 'yields', d.yields),
    'otherTokens', CASE others.contracts WHEN '{}' THEN '[]' ELSE (
      SELECT coalesce(json_agg(json_build_object('token', o.token, 'symbol', o.symbol, 'decimals', o.decimals, 'activePoolsCount', p.active,
'totalDeposited', d.deposited, 'pendingDeposits', d.pending, 'totalYield', p.yield, 'yieldEarned', d.claimed,
'averageAPR', p.apr, 'chartData', json_build_object('deposits', d.deposits, 'yields', d.yields)) ORDER BY o.token), '[]')
      FROM
(SELECT k.token, min(k.symbol) AS symbol, min(k.decimals) AS decimals, array_agg(k.contract) AS contracts
 FROM chain_tokens k JOIN chain_facts f ON k.token <> f.token_address GROUP BY k.token) o CROSS JOIN LATERAL
(SELECT coalesce(sum(deposited), 0)::text AS deposited, coalesce(sum(pending), 0)::text AS pending,
  coalesce(sum(claimed), 0)::text AS claimed,
  coalesce(json_agg(json_build_object('date', day, 'amount', deposited::text)) FILTER (WHERE deposited > 0), '[]') AS deposits,
  coalesce(json_agg(json_build_object('date', day, 'amount', claimed::text)) FILTER (WHERE claimed > 0), '[]') AS yields,
  count(*) AS days
 FROM (
  SELECT day, sum(deposited) AS deposited, sum(pending) AS pending, sum(claimed) AS claimed
  FROM account_days WHERE address = u.address AND contract = ANY(o.contracts) GROUP BY day ORDER BY day
 ) days) d CROSS JOIN LATERAL
(SELECT coalesce(sum(yield), 0)::text AS yield, coalesce(sum(active), 0) AS active, coalesce(trim_scale(round(sum(apr_bps) / nullif(sum(pools), 0) / 100, 2)), 0) AS apr,
  coalesce(sum(pools), 0) AS pools
 FROM owner_totals WHERE owner_id = u.id AND contract = ANY(o.contracts)) p
      WHERE d.days > 0 OR p.pools > 0) END)::text AS data
  FROM users u CROSS JOIN (SELECT
ARRAY(SELECT c.address FROM chain_contracts c UNION SELECT k.contract FROM chain_tokens k
  EXCEPT SELECT k.contract FROM chain_tokens k JOIN chain_facts f ON k.token = f.token_address) AS contracts OFFSET 0) others CROSS JOIN LATERAL
(SELECT coalesce(sum(deposited), 0)::text AS deposited, coalesce(sum(pending), 0)::text AS pending,
  coalesce(sum(claimed), 0)::text AS claimed,
  coalesce(json_agg(json_build_object('date', day, 'amount', deposited::text)) FILTER (WHERE deposited > 0), '[]') AS deposits,
  coalesce(json_agg(json_build_object('date', day, 'amount', claimed::text)) FILTER (WHERE claimed > 0), '[]') AS yields,
  count(*) AS days
 FROM (
  SELECT day, sum(deposited) AS deposited, sum(pending) AS pending, sum(claimed) AS claimed
  FROM account_days WHERE address = u.address AND contract <> ALL(others.contracts) GROUP BY day ORDER BY day
 ) days) d CROSS JOIN LATERAL
(SELECT coalesce(sum(yield), 0)::text AS yield, coalesce(sum(active), 0) AS active, coalesce(trim_scale(round(sum(apr_bps) / nullif(sum(pools), 0) / 100, 2)), 0) AS apr,
  coalesce(sum(pools), 0) AS pools
 FROM owner_totals WHERE owner_id = u.id AND contract <> ALL(others.contracts)) p
  WHERE u.id = ($1::uuid);
