import { Injectable } from '@nestjs/common';
import type { AuthenticatedUser } from '../auth/current-user';
import { invalidToken } from '../common/errors';
import { JsonText } from '../common/json-text';
import { Database } from '../database/database';
import type { PoolAnalytics, UserAnalytics } from './analytics.dto';

export const POOL_ANALYTICS = {
  name: 'pool_analytics',
  text: `
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
    FROM pool_totals`,
};

export const USER_ANALYTICS = {
  name: 'user_analytics',
  text: `
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
      SELECT coalesce(sum(total_yield), 0) AS yield, count(*) FILTER (WHERE balance > 0) AS active,
        coalesce(trim_scale(round(avg(apr_bps) / 100, 2)), 0) AS apr
      FROM pools WHERE owner_id = u.id
    ) p
    WHERE u.id = $1`,
};

@Injectable()
export class AnalyticsService {
  constructor(private readonly database: Database) {}

  /** Over all pools; from totals kept beside the pools, so its cost does not grow with them. */
  async pools(): Promise<JsonText<PoolAnalytics>> {
    const row = await this.database.read<{ data: string }>(POOL_ANALYTICS, []);
    return new JsonText(row!.data);
  }

  async user({ userId }: AuthenticatedUser): Promise<JsonText<UserAnalytics>> {
    const row = await this.database.read<{ data: string }>(USER_ANALYTICS, [userId]);
    if (!row) throw invalidToken();
    return new JsonText(row.data);
  }
}
