import { Controller, Get } from '@nestjs/common';
import type { JsonText } from '#platform/answers/json-text';
import { ApiData } from '#platform/openapi/api-docs';
import { Public } from '#features/access/auth.guard';
import { AuthenticatedUser, CurrentUser } from '#features/access/current-user';
import { PoolAnalytics, UserAnalytics } from './analytics.dto';
import { AnalyticsService } from './analytics.service';

@Controller('analytics')
export class AnalyticsController {
  constructor(private readonly analytics: AnalyticsService) {}

  @Get('pools')
  @Public('PUBLIC_STATISTICS')
  @ApiData(PoolAnalytics, {
    summary: 'Get totals over all pools',
    description:
      'Returns deposits, yield and counts of all pools of the service. The operator can open it to requests without a token.',
    errors: [401],
  })
  pools(): Promise<JsonText<PoolAnalytics>> {
    return this.analytics.pools();
  }

  @Get('user')
  @ApiData(UserAnalytics, {
    summary: 'Get totals of the caller',
    description:
      'Returns what the caller has deposited and claimed, what their own pools have accrued, and both by day for a chart.',
    errors: [401],
  })
  user(@CurrentUser() user: AuthenticatedUser): Promise<JsonText<UserAnalytics>> {
    return this.analytics.user(user);
  }
}
