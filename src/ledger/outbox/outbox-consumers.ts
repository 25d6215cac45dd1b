import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { Database } from '#platform/database/database';
import { within } from '#platform/timing/waits';
import { ConsumerMetrics, Delivery } from './delivery';
import { findHandlers } from './on-ledger-event';
import { OutboxPoller } from './outbox-poller';
import { ADD_CONSUMER, DUE_CONSUMERS } from './outbox.sql';

/** A handler that still runs after this time is abandoned; its event comes again in another process. */
const STOP_MS = 4000;

/** Passes the events of the outbox to the handlers of this process. Other processes may have the same handlers. */
@Injectable()
export class OutboxConsumers implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(OutboxConsumers.name);
  private readonly deliveries = new Map<string, Delivery>();
  private readonly running = new Set<Promise<void>>();
  private readonly registered = new Set<string>();
  private leave: () => void = () => undefined;

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly database: Database,
    private readonly poller: OutboxPoller,
    private readonly metrics: ConsumerMetrics,
  ) {}

  /** @throws Error when two handlers have the same consumer */
  onApplicationBootstrap(): void {
    for (const handler of findHandlers(this.discovery))
      this.deliveries.set(handler.consumer, new Delivery(handler, this.database, this.metrics, this.logger));
    if (this.deliveries.size > 0) this.leave = this.poller.add(() => this.findDueConsumers());
  }

  /** Runs before the database connections close, so that progress can still be stored. */
  async onModuleDestroy(): Promise<void> {
    this.leave();
    for (const delivery of this.deliveries.values()) delivery.stop();
    await within(STOP_MS, Promise.all(this.running));
  }

  private async findDueConsumers(): Promise<void> {
    await this.register();
    const rows = await this.database.readAll(DUE_CONSUMERS, { names: [...this.deliveries.keys()] });
    for (const { name, lag, due } of rows) {
      this.metrics.lag.set({ consumer: name }, lag);
      const delivery = this.deliveries.get(name)!;
      if (due && delivery.isReady) this.start(delivery);
    }
  }

  /** Not done at startup, which does not wait for the database. */
  private async register(): Promise<void> {
    for (const { handler } of this.deliveries.values()) {
      const { consumer: name, from } = handler;
      if (this.registered.has(name)) continue;
      await this.database.write(ADD_CONSUMER, { name, fromNow: from === 'now' });
      this.registered.add(name);
    }
  }

  private start(delivery: Delivery): void {
    const work = delivery
      .run()
      .then((more) => more && this.poller.hurry())
      .catch((error: Error) =>
        this.logger.warn(`${delivery.handler.consumer} run failed; retrying: ${error.message}`),
      )
      .then(() => void this.running.delete(work));
    this.running.add(work);
  }
}
