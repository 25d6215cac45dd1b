import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import { randomBytes } from 'node:crypto';
import type { Counter } from 'prom-client';
import { Database } from '#platform/database/database';
import { pause } from '#platform/timing/waits';
import { OutboxPoller } from '#ledger/outbox/outbox-poller';
import { WebhooksSettings } from './webhooks.settings';
import { signatureHeaders } from './signature';
import { Slots } from './slots';
import { type Message, WebhookClient } from './webhook-client';
import {
  CLAIM_DELIVERIES,
  type ClaimedDelivery,
  DUE_WEBHOOKS,
  type DueWebhook,
  FINISH_CHALLENGE,
  FINISH_DELIVERIES,
} from './deliveries.sql';

/** A receiver that takes longer waits in another lane, though what it gets counts as delivered. */
const SLOW_MS = 2000;
/** Time that running requests get at shutdown. */
const STOP_MS = 3000;
/** After a look that finds `CROWD` webhooks, the sender rests for `CROWD_RESTS` times its duration, a second at most. */
const CROWD = 500;
const CROWD_RESTS = 4;
const MOST_REST_MS = 1000;

/** Sends what is due. Every process does this; none takes what another has taken. */
@Injectable()
export class WebhookSender implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(WebhookSender.name);
  private readonly running = new Set<Promise<void>>();
  private readonly slots = new Slots();
  private readonly stop = new AbortController();
  private leave?: () => Promise<void>;

  constructor(
    private readonly database: Database,
    private readonly poller: OutboxPoller,
    private readonly client: WebhookClient,
    private readonly environment: WebhooksSettings,
    @InjectMetric('webhook_attempts_total') private readonly attempts: Counter<'outcome'>,
  ) {}

  onApplicationBootstrap(): void {
    this.leave = this.poller.add('sending webhooks', () => this.serveDueWebhooks());
  }

  async onModuleDestroy(): Promise<void> {
    await this.leave?.();
    const timer = setTimeout(() => this.stop.abort(), STOP_MS);
    await Promise.all(this.running).finally(() => clearTimeout(timer));
  }

  private async serveDueWebhooks(): Promise<void> {
    const began = performance.now();
    const due = await this.database.readAll(DUE_WEBHOOKS, { full: this.slots.full() });
    const turns = this.slots.share(due);
    const took = performance.now() - began;
    if (turns.size > 0) await this.serve(turns);
    if (due.length >= CROWD) await pause(Math.min(CROWD_RESTS * took, MOST_REST_MS));
  }

  private async serve(turns: Map<DueWebhook, number>): Promise<void> {
    let claimed: ClaimedDelivery[] = [];
    try {
      claimed = await this.database.writeAll(CLAIM_DELIVERIES, {
        webhooks: [...turns.keys()].map(({ id }) => id),
        lanes: [...turns.keys()].map(({ lane }) => lane),
        most: [...turns.values()],
      });
    } finally {
      // What another process has taken is left to it. Slots that nothing is sent with are free again, whatever fails.
      for (const [webhook, slots] of turns) {
        const own = claimed.filter((each) => each.webhook === webhook.id);
        this.slots.giveBack(webhook, slots - own.length);
        if (own.length > 0) this.start(webhook, own);
      }
    }
  }

  /** Sends in the background. */
  private start(webhook: DueWebhook, claimed: ClaimedDelivery[]): void {
    this.slots.began(webhook, webhook.now);
    const isChallenge = claimed[0].body === null;
    const work = (isChallenge ? this.challenge(claimed[0]) : this.deliver(claimed))
      .catch((error: Error) => this.logger.warn(`an attempt was not recorded: ${error.message}`))
      .then((isAnswered) => {
        this.running.delete(work);
        this.slots.giveBack(webhook, claimed.length, isChallenge && !isAnswered);
        this.poller.hurry();
      });
    this.running.add(work);
  }

  private async deliver(deliveries: ClaimedDelivery[]): Promise<void> {
    const began = performance.now();
    const outcomes = await Promise.all(
      deliveries.map(async (delivery) => {
        const message = messageOf(delivery, delivery.body!);
        return { ...delivery, ...(await this.client.post(message, this.stop.signal)) };
      }),
    );
    const slow = performance.now() - began > SLOW_MS;
    // Those that we aborted say nothing about the receiver. They are sent again after the lease.
    const known = outcomes.filter(({ error }) => error === null || !this.stop.signal.aborted);
    if (known.length === 0) return;
    for (const { error } of known) this.attempts.inc({ outcome: error === null ? 'delivered' : 'failed' });
    await this.database.write(FINISH_DELIVERIES, {
      webhook: known[0].webhook,
      url: known[0].url,
      slow,
      retryAfter: Math.max(...known.map(({ retryAfter = 0 }) => retryAfter)) || null,
      waits: this.environment.WEBHOOK_RETRY_SECONDS,
      outcomes: JSON.stringify(
        known.map(({ id, attempt, status, error }) => ({ id, attempt, status, error })),
      ),
    });
  }

  /** @returns whether the server has answered */
  private async challenge({ id, webhook, url, secrets }: ClaimedDelivery): Promise<boolean> {
    const challenge = randomBytes(32).toString('base64url');
    const occurredAt = new Date().toISOString();
    const body = JSON.stringify({ id, topic: 'challenge', occurredAt, challenge });
    const message = messageOf({ id, url, secrets }, body);
    const { error } = await this.client.post(message, this.stop.signal, challenge);
    if (error !== null && this.stop.signal.aborted) return false;
    this.attempts.inc({ outcome: error === null ? 'verified' : 'unverified' });
    await this.database.write(FINISH_CHALLENGE, { webhook, url, error });
    return error === null;
  }
}

const messageOf = (
  { id, url, secrets }: Pick<ClaimedDelivery, 'id' | 'url' | 'secrets'>,
  body: string,
): Message => ({
  url,
  body,
  headers: {
    'content-type': 'application/json',
    'user-agent': 'SavingsWebhooks/1',
    ...signatureHeaders(id, body, secrets),
  },
});
