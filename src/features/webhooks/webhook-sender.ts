import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import type { Counter } from 'prom-client';
import { Database } from '#platform/database/database';
import { OutboxPoller } from '#ledger/outbox/outbox-poller';
import { signatureOf } from '#features/receivers/signature';
import { SEND_TIMEOUT_MS, WebhookClient } from '#features/receivers/webhook-client';
import { CLAIM_DELIVERIES, type ClaimedDelivery, FINISH_DELIVERY, WAITING_WEBHOOKS } from './deliveries.sql';

/** Concurrent requests of this process, and how many of them to one webhook: a slow receiver leaves room for others. */
const MOST = 64;
const EACH = 4;
/** Webhooks considered in one round; the next round continues after them. */
const LOOKED_AT = 40;
/**
 * Longer than an attempt and storing its outcome take. If the process is killed, another one tries again after this
 * time.
 */
const LEASE_SECONDS = 30;
/** Time that running requests get at shutdown. */
const STOP_MS = Math.min(3000, SEND_TIMEOUT_MS);
const FIRST = '00000000-0000-0000-0000-000000000000';

/** Sends due deliveries. Every process does this; none takes what another has taken. */
@Injectable()
export class WebhookSender implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(WebhookSender.name);
  private readonly running = new Set<Promise<void>>();
  private readonly busy = new Map<string, number>();
  private readonly stop = new AbortController();
  private after = FIRST;
  private leave: () => void = () => undefined;

  constructor(
    private readonly database: Database,
    private readonly poller: OutboxPoller,
    private readonly client: WebhookClient,
    @InjectMetric('webhook_attempts_total') private readonly attempts: Counter<'outcome'>,
  ) {}

  onApplicationBootstrap(): void {
    this.leave = this.poller.add(() => this.findDueWebhooks());
  }

  async onModuleDestroy(): Promise<void> {
    this.leave();
    const timer = setTimeout(() => this.stop.abort(), STOP_MS);
    await Promise.all(this.running).finally(() => clearTimeout(timer));
  }

  private async findDueWebhooks(): Promise<void> {
    const room = MOST - this.running.size;
    if (room <= 0) return;
    const waiting = await this.database.readAll(WAITING_WEBHOOKS, { after: this.after, most: LOOKED_AT });
    const webhooks = waiting.filter(({ id, due }) => due && !this.busy.has(id)).map(({ id }) => id);
    const isLast = waiting.length < LOOKED_AT;
    this.after = isLast ? FIRST : waiting.at(-1)!.id;
    if (webhooks.length > 0) await this.claim(webhooks, room);
    if (!isLast) this.poller.hurry();
  }

  private async claim(webhooks: string[], room: number): Promise<void> {
    const parameters = { webhooks, each: EACH, most: room, leaseSeconds: LEASE_SECONDS };
    for (const delivery of await this.database.writeAll(CLAIM_DELIVERIES, parameters)) this.start(delivery);
  }

  private start(delivery: ClaimedDelivery): void {
    const { webhook } = delivery;
    this.busy.set(webhook, (this.busy.get(webhook) ?? 0) + 1);
    const work = this.send(delivery)
      .catch((error: Error) => this.logger.warn(`an attempt was not recorded: ${error.message}`))
      .then(() => {
        this.running.delete(work);
        const left = this.busy.get(webhook)! - 1;
        if (left > 0) this.busy.set(webhook, left);
        else this.busy.delete(webhook);
        this.poller.hurry();
      });
    this.running.add(work);
  }

  private async send({ id, attempt, body, url, secret }: ClaimedDelivery): Promise<void> {
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'SavingsWebhooks/1',
      'webhook-id': id,
      'webhook-signature': signatureOf(body, secret, Math.floor(Date.now() / 1000)),
    };
    const outcome = await this.client.post(url, headers, body, this.stop.signal);
    // We aborted it ourselves, so it says nothing about the receiver. It is sent again after the lease.
    if (outcome.error !== null && this.stop.signal.aborted) return;
    this.attempts.inc({ outcome: outcome.error === null ? 'delivered' : 'failed' });
    await this.database.write(FINISH_DELIVERY, { id, attempt, ...outcome });
  }
}
