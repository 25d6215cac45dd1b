import { Injectable } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import type { Counter, Gauge } from 'prom-client';

/** What Prometheus learns of the consumers of this process. */
@Injectable()
export class ConsumerMetrics {
  constructor(
    @InjectMetric('outbox_lag_seconds') readonly lag: Gauge<'consumer'>,
    @InjectMetric('outbox_failures_total') readonly failures: Counter<'consumer'>,
    @InjectMetric('outbox_set_aside_total') readonly setAside: Counter<'consumer'>,
  ) {}
}
