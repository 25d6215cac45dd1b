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
import { HealthModule } from '#features/health/health.module';
import { LotteryModule } from '#features/lottery/lottery.module';
import { MetricsModule } from '#features/metrics/metrics.module';
import { PoolsModule } from '#features/pools/pools.module';
import { TransactionsModule } from '#features/transactions/transactions.module';
import { AREAS, type Environment } from '#settings/environment';
import { CirclesModule } from '#extensions/circles/circles.module';
import { ClientConfigModule } from '#extensions/config/config.module';
import { EventsModule } from '#extensions/events/events.module';
import { PaymentsModule } from '#extensions/payments/payments.module';
import { PeopleModule } from '#extensions/people/people.module';
import { PositionsModule } from '#extensions/positions/positions.module';
import { StartModule } from '#extensions/start/start.module';
import { WebhooksModule } from '#extensions/webhooks/webhooks.module';

export type AppImports = NonNullable<ModuleMetadata['imports']>;

/** What the contract names, and what that stands on. */
const FEATURES: AppImports = [
  AccessModule,
  // Its guard runs behind the one of AccessModule.
  QueryParametersModule,
  AuthModule,
  PoolsModule,
  TransactionsModule,
  AnalyticsModule,
  LotteryModule,
  HealthModule,
  MetricsModule,
];

/**
 * What goes beyond the contract. Each can be left out: delete its folder in `src/extensions` and its name here. Settings,
 * documents and the OpenAPI document follow. Those that stand on another one say so, and go with it.
 */
const EXTENSIONS: AppImports = [
  // Chain, token, contracts and rules, for wallets and pages.
  ClientConfigModule,
  // What the caller holds in each pool, and can claim.
  PositionsModule,
  // Calls that a wallet signs to pay in, take out and claim. Stands on positions.
  PaymentsModule,
  // Savings circles of rotating pools. Stands on payments.
  CirclesModule,
  // All that a start page shows, in one request. Stands on positions.
  StartModule,
  // Streams of events.
  EventsModule,
  // Events sent to servers. Stands on events.
  WebhooksModule,
  // Export and deletion of what is kept of a person. Stands on positions and webhooks.
  PeopleModule,
];

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
        ...FEATURES,
        ...EXTENSIONS,
        ...modules,
      ],
      providers: [
        { provide: APP_PIPE, useClass: DtoPipe },
        { provide: APP_FILTER, useClass: ErrorFilter },
      ],
    };
  }
}
