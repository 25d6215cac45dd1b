import { DynamicModule, Module, type ModuleMetadata } from '@nestjs/common';
import { APP_FILTER, APP_PIPE } from '@nestjs/core';
import { AnalyticsModule } from './analytics/analytics.module';
import { AuthModule } from './auth/auth.module';
import { ChainModule } from './chain/chain.module';
import { ErrorFilter } from './common/error.filter';
import { QueryParametersModule } from './common/query-parameters.guard';
import { RateLimitModule } from './rate-limit/rate-limit.module';
import { DtoPipe } from './common/validation.pipe';
import { ConfigModule } from './config/config.module';
import type { Environment } from './config/environment';
import { DatabaseModule } from './database/database.module';
import { EventsModule } from './events/events.module';
import { HealthModule } from './health/health.module';
import { LotteryModule } from './lottery/lottery.module';
import { MetricsModule } from './metrics/metrics.module';
import { PaymentsModule } from './payments/payments.module';
import { OutboxModule } from './outbox/outbox.module';
import { PoolsModule } from './pools/pools.module';

import { PositionsModule } from './positions/positions.module';
import { TransactionsModule } from './transactions/transactions.module';
import { UsersModule } from './users/users.module';
import { WebhooksModule } from './webhooks/webhooks.module';

export type AppImports = NonNullable<ModuleMetadata['imports']>;

@Module({})
export class AppModule {
  /** @param modules beside those of the service */
  static register(environment: Environment, modules: AppImports = []): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.register(environment),
        DatabaseModule.register('api'),
        ChainModule,
        OutboxModule,
        RateLimitModule,
        AuthModule,
        // Its guard runs behind the one of AuthModule.
        QueryParametersModule,
        UsersModule,
        PoolsModule,
        PositionsModule,
        TransactionsModule,
        PaymentsModule,
        AnalyticsModule,
        LotteryModule,
        WebhooksModule,
        EventsModule,
        HealthModule,
        MetricsModule,
        ...modules,
      ],
      providers: [
        { provide: APP_PIPE, useClass: DtoPipe },
        { provide: APP_FILTER, useClass: ErrorFilter },
      ],
    };
  }
}
