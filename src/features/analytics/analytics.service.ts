import { Injectable } from '@nestjs/common';
import { JsonText } from '#platform/answers/json-text';
import { Database } from '#platform/database/database';
import { type AuthenticatedUser, ofUser } from '#features/access/current-user';
import type { PoolAnalytics, UserAnalytics } from './analytics.dto';
import { POOL_ANALYTICS, USER_ANALYTICS } from './analytics.sql';

@Injectable()
export class AnalyticsService {
  constructor(private readonly database: Database) {}

  async pools(): Promise<JsonText<PoolAnalytics>> {
    const row = await this.database.read(POOL_ANALYTICS, {});
    return new JsonText(row!.data);
  }

  async user({ userId }: AuthenticatedUser): Promise<JsonText<UserAnalytics>> {
    return ofUser(await this.database.read(USER_ANALYTICS, { user: userId }));
  }
}
