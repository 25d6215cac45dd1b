import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import { randomBytes } from 'node:crypto';
import type { Counter } from 'prom-client';
import { v7 as uuidv7 } from 'uuid';
import { Database } from '#platform/database/database';
import { OutboxPoller } from '#ledger/outbox/outbox-poller';
import { WebhooksSettings } from './webhooks.settings';
import { signatureHeaders } from './signature';
import { LANES, Slots, type Turn } from './slots';
import { type Message, SEND_TIMEOUT_MS, WebhookClient } from './webhook-client';
import { CLAIM_CHALLENGES, type ClaimedChallenge, FINISH_CHALLENGE } from './challenges.sql';
import {
  CLAIM_DELIVERIES,
  type ClaimedDelivery,
  DUE_WEBHOOKS,
  type DueWebhook,
  FINISH_DELIVERIES,
} from './deliveries.sql';
import { type DeliveryTopic, NOTICES } from './webhooks.dto';

/** Webhooks of a lane that a look reads. */
const LOOKED_AT = 5000;
/**
 * Longer than an attempt and storing its outcome take. If the process is killed, another one tries again after this
 * time.
 */
const LEASE_SECONDS = 30;
/** A receiver that takes longer waits in another lane, though what it gets counts as delivered. */
const SLOW_MS = 2000;
/** Time that running requests get at shutdown. */
const STOP_MS = Math.min(3000, SEND_TIMEOUT_MS);
/** After a look that finds `CROWD` webhooks, the sender rests for `CROWD_RESTS` times its duration, a second at most. */
const CROWD = 500;
const CROWD_RESTS = 4;
const MOST_REST_MS = 1000;

/** Sends what is due. Every process does this; none takes what another has taken. */
@Injectable()
export class WebhookSender implements OnApplicationBootstrap, OnModuleDestroy {
  private restsUntil = 0;
  private readonly logger = new Logger(WebhookSender.name);
  private readonly running = new Set<Promise<void>>();
  private readonly slots = new Slots();
  private readonly stop = new AbortController();
  private leave: () => void = () => undefined;

  constructor(
    private readonly database: Database,
    private readonly poller: OutboxPoller,
    private readonly client: WebhookClient,
    private readonly environment: WebhooksSettings,
    @InjectMetric('webhook_attempts_total') private readonly attempts: Counter<'outcome'>,
  ) {}

  onApplicationBootstrap(): void {
    this.leave = this.poller.add(() => this.serveDueWebhooks());
  }

  async onModuleDestroy(): Promise<void> {
    this.leave();
    const timer = setTimeout(() => this.stop.abort(), STOP_MS);
    await Promise.all(this.running).finally(() => clearTimeout(timer));
  }

  private async serveDueWebhooks(): Promise<void> {
    const began = performance.now();
    if (began < this.restsUntil) return;
    const full = this.slots.full();
    const lanes = LANES.filter((lane) => !full.includes(lane));
    if (lanes.length === 0) return;
    const due = await this.database.readAll(DUE_WEBHOOKS, { lanes, full, most: LOOKED_AT });
    const turns = this.slots.share(due);
    const took = performance.now() - began;
    if (due.length >= CROWD) this.restsUntil = performance.now() + Math.min(CROWD_RESTS * took, MOST_REST_MS);
    // At once, as nothing else returns the slots.
    const challenges = turns.filter(({ webhook }) => webhook.lane === 'challenge');
    const others = turns.filter(({ webhook }) => webhook.lane !== 'challenge');
    const most = others.map(({ slots }) => slots);
    await Promise.all([
      this.serve(
        challenges,
        (webhooks) => this.database.writeAll(CLAIM_CHALLENGES, { webhooks }),
        ([challenge], webhook) => this.challenge(webhook, challenge),
      ),
      this.serve(
        others,
        (webhooks) =>
          this.database.writeAll(CLAIM_DELIVERIES, { webhooks, most, leaseSeconds: LEASE_SECONDS }),
        (deliveries) => this.deliver(deliveries),
      ),
    ]);
  }

  /**
   * Takes what the webhooks have, and sends it in the background. What another process has taken is left to it. Slots
   * that nothing is sent with are free again, whatever fails.
   */
  private async serve<Claimed extends { webhook: string }>(
    turns: Turn<DueWebhook>[],
    claim: (webhooks: string[]) => Promise<Claimed[]>,
    send: (claimed: Claimed[], webhook: DueWebhook) => Promise<void>,
  ): Promise<void> {
    if (turns.length === 0) return;
    let claimed: Claimed[] = [];
    try {
      claimed = await claim(turns.map(({ webhook }) => webhook.id));
    } finally {
      for (const { webhook, slots } of turns) {
        const own = claimed.filter((each) => each.webhook === webhook.id);
        this.slots.giveBack(webhook, slots - own.length);
        if (own.length === 0) continue;
        this.slots.began(webhook, webhook.now);
        this.start(webhook, own.length, send(own, webhook));
      }
    }
  }

  private start(webhook: DueWebhook, slots: number, sending: Promise<void>): void {
    const work = sending
      .catch((error: Error) => this.logger.warn(`an attempt was not recorded: ${error.message}`))
      .finally(() => {
        this.running.delete(work);
        this.slots.giveBack(webhook, slots);
        this.poller.hurry();
      });
    this.running.add(work);
  }

  private async deliver(deliveries: ClaimedDelivery[]): Promise<void> {
    const began = performance.now();
    const outcomes = await Promise.all(
      deliveries.map(async (delivery) => {
        const message = messageOf(delivery, delivery.id, bodyOf(delivery));
        return { ...delivery, ...(await this.client.post(message, this.stop.signal)) };
      }),
    );
    const slow = performance.now() - began > SLOW_MS;
    // Those that we aborted say nothing about the receiver. They are sent again after the lease.
    const known = outcomes.filter(({ error }) => error === null || !this.stop.signal.aborted);
    if (known.length === 0) return;
    for (const { error } of known) this.attempts.inc({ outcome: error === null ? 'delivered' : 'failed' });
    const asked = known.flatMap(({ retryAfter }) => retryAfter ?? []);
    await this.database.write(FINISH_DELIVERIES, {
      webhook: known[0].webhook,
      url: known[0].url,
      slow,
      retryAfter: asked.length > 0 ? Math.max(...asked) : null,
      waits: this.environment.WEBHOOK_RETRY_SECONDS,
      ids: known.map(({ id }) => id),
      attempts: known.map(({ attempt }) => attempt),
      statuses: known.map(({ status }) => status),
      errors: known.map(({ error }) => error),
    });
  }

  private async challenge(asked: DueWebhook, claimed: ClaimedChallenge): Promise<void> {
    const { webhook, url } = claimed;
    const challenge = randomBytes(32).toString('base64url');
    const id = uuidv7();
    const message = messageOf(claimed, id, challengeOf(id, challenge));
    const { error } = await this.client.post(message, this.stop.signal, challenge);
    if (error !== null && this.stop.signal.aborted) return;
    this.attempts.inc({ outcome: error === null ? 'verified' : 'unverified' });
    if (error === null) this.slots.answered(asked);
    await this.database.write(FINISH_CHALLENGE, { webhook, url, error });
  }
}

const isNotice = (topic: DeliveryTopic): boolean => (NOTICES as readonly string[]).includes(topic);

/**
 * The event as it was stored. A notice is nothing but its delivery: `reload` has the id of the first event that was left
 * out, which others may have got.
 */
export const bodyOf = ({
  event,
  topic,
  eventId,
  createdAt,
}: Pick<ClaimedDelivery, 'event' | 'topic' | 'eventId' | 'createdAt'>): string =>
  isNotice(topic) || event === null
    ? JSON.stringify({ id: eventId, topic, occurredAt: createdAt.toISOString() })
    : event;

/** Asks the server at the URL to repeat a text. */
export const challengeOf = (id: string, challenge: string): string =>
  JSON.stringify({ id, topic: 'challenge', occurredAt: new Date().toISOString(), challenge });

const messageOf = (
  { url, secrets }: { url: string; secrets: string[] },
  id: string,
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
