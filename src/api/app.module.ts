import { DynamicModule, Module, type ModuleMetadata } from '@nestjs/common';
import { APP_FILTER, APP_PIPE } from '@nestjs/core';
import { SettingsModule } from '#platform/config/settings.module';
import { DatabaseModule } from '#platform/database/database.module';
import { ErrorFilter } from '#platform/errors/error.filter';
import { RateLimitModule } from '#platform/limits/rate-limit.module';
import { QueryParametersModule } from '#platform/validation/query-parameters.guard';
import { DtoPipe } from '#platform/validation/validation.pipe';
import { ChainModule } from '#ledger/chain/chain.module';
import { OutboxModule } from '#ledger/outbox/outbox.module';
import { AccessModule } from '#features/access/access.module';
import { AnalyticsModule } from '#features/analytics/analytics.module';
import { AuthModule } from '#features/auth/auth.module';
import { ClientConfigModule } from '#features/config/config.module';
import { EventsModule } from '#features/events/events.module';
import { HealthModule } from '#features/health/health.module';
import { CirclesModule } from '#features/circles/circles.module';
import { LotteryModule } from '#features/lottery/lottery.module';
import { MetricsModule } from '#features/metrics/metrics.module';
import { PaymentsModule } from '#features/payments/payments.module';
import { PeopleModule } from '#features/people/people.module';
import { PoolsModule } from '#features/pools/pools.module';
import { PositionsModule } from '#features/positions/positions.module';
import { StartModule } from '#features/start/start.module';
import { TransactionsModule } from '#features/transactions/transactions.module';
import { UsersModule } from '#features/users/users.module';
import { WebhooksModule } from '#features/webhooks/webhooks.module';
import { AREAS, type Environment } from '#settings/environment';

export type AppImports = NonNullable<ModuleMetadata['imports']>;

@Module({})
export class AppModule {
  /** @param modules beside those of the service */
  static register(environment: Environment, modules: AppImports = []): DynamicModule {
    return {
      module: AppModule,
      imports: [
        SettingsModule.register(AREAS, environment),
        DatabaseModule.register('api'),
        ChainModule,
        OutboxModule,
        RateLimitModule,
        AccessModule,
        // Its guard runs behind the one of AccessModule.
        QueryParametersModule,
        AuthModule,
        UsersModule,
        PoolsModule,
        PositionsModule,
        TransactionsModule,
        PaymentsModule,
        ClientConfigModule,
        AnalyticsModule,
        CirclesModule,
        LotteryModule,
        StartModule,
        WebhooksModule,
        PeopleModule,
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
