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
    summary: 'Totals over all pools',
    description:
      'What all pools of the service hold and have yielded, whoever owns them. The operator may open it to requests without a token.',
    errors: [401],
  })
  pools(): Promise<JsonText<PoolAnalytics>> {
    return this.analytics.pools();
  }

  @Get('user')
  @ApiData(UserAnalytics, {
    summary: 'Totals of the caller',
    description:
      'What the caller has paid in and claimed, what his own pools have accrued, and both day by day for a chart.',
    errors: [401],
  })
  user(@CurrentUser() user: AuthenticatedUser): Promise<JsonText<UserAnalytics>> {
    return this.analytics.user(user);
  }
}
