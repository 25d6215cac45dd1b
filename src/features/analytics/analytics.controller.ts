import { Controller, Get } from '@nestjs/common';
import { JsonText } from '#platform/answers/json-text';
import { Database } from '#platform/database/database';
import { ApiData } from '#platform/openapi/api-docs';
import { Public } from '#features/access/auth.guard';
import { AuthenticatedUser, CurrentUser, ofUser } from '#features/access/current-user';
import { PoolAnalytics, UserAnalytics } from './analytics.dto';
import { POOL_ANALYTICS, USER_ANALYTICS } from './analytics.sql';

@Controller('analytics')
export class AnalyticsController {
  constructor(private readonly database: Database) {}

  @Get('pools')
  @Public('PUBLIC_STATISTICS')
  @ApiData(PoolAnalytics, {
    summary: 'Get totals over all pools',
    description:
      'Returns deposits, yield and counts of all pools of the service. The operator can open it to requests without a token.',
    errors: [401],
  })
  async pools(): Promise<JsonText<PoolAnalytics>> {
    return new JsonText((await this.database.read(POOL_ANALYTICS, {}))!.data);
  }

  @Get('user')
  @ApiData(UserAnalytics, {
    summary: 'Get totals of the caller',
    description:
      'Returns what the caller has deposited and claimed, what their own pools have accrued, and both by day for a chart.',
    errors: [401],
  })
  async user(@CurrentUser() { userId: user }: AuthenticatedUser): Promise<JsonText<UserAnalytics>> {
    return ofUser(await this.database.read(USER_ANALYTICS, { user }));
  }
}
