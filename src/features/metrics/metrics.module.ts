import { Module } from '@nestjs/common';
import { PrometheusModule, makeGaugeProvider, makeHistogramProvider } from '@willsoto/nestjs-prometheus';
import { DatabaseClock } from './database-clock';
import { HttpMetrics } from './http-metrics';
import { MetricsController } from './metrics.controller';

@Module({
  imports: [PrometheusModule.register({ controller: MetricsController })],
  providers: [
    DatabaseClock,
    HttpMetrics,
    makeGaugeProvider({
      name: 'database_clock_offset_seconds',
      help: 'By how far the clock of the database is ahead of that of this process',
    }),
    makeHistogramProvider({
      name: 'http_request_duration_seconds',
      help: 'Duration of requests by method, matched route and status',
      labelNames: ['method', 'route', 'status'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    }),
  ],
})
export class MetricsModule {}
