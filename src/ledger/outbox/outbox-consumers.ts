import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { Database } from '#platform/database/database';
import { within } from '#platform/timing/waits';
import { ConsumerMetrics, Delivery } from './delivery';
import { findHandlers } from './on-ledger-event';
import { OutboxPoller } from './outbox-poller';

/** A handler that still runs after this time is abandoned; its event comes again in another process. */
const STOP_MS = 4000;

/** Passes the events of the outbox to the handlers of this process. Other processes may have the same handlers. */
@Injectable()
export class OutboxConsumers implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(OutboxConsumers.name);
  private deliveries: Delivery[] = [];

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly database: Database,
    private readonly poller: OutboxPoller,
    private readonly metrics: ConsumerMetrics,
  ) {}

  /** @throws Error when two handlers have the same consumer */
  onApplicationBootstrap(): void {
    const { database, poller, metrics, logger } = this;
    this.deliveries = findHandlers(this.discovery).map(
      (handler) => new Delivery(handler, database, poller, metrics, logger),
    );
  }

  /** Runs before the database connections close, so that progress can still be stored. */
  async onModuleDestroy(): Promise<void> {
    await within(STOP_MS, Promise.all(this.deliveries.map((delivery) => delivery.stop())));
  }
}
