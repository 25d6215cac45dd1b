import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import { randomBytes } from 'node:crypto';
import type { Counter } from 'prom-client';
import { v7 as uuidv7 } from 'uuid';
import { Database } from '#platform/database/database';
import { OutboxPoller } from '#ledger/outbox/outbox-poller';
import { ReceiversSettings } from '#extensions/receivers/receivers.settings';
import { signatureHeaders } from '#extensions/receivers/signature';
import { LANES, type Lane, Slots, type Turn } from '#extensions/receivers/slots';
import { type Message, SEND_TIMEOUT_MS, WebhookClient } from '#extensions/receivers/webhook-client';
import { CLAIM_CHALLENGES, type ClaimedChallenge, FINISH_CHALLENGE } from './challenges.sql';
import {
  CLAIM_DELIVERIES,
  type ClaimedDelivery,
  DUE_WEBHOOKS,
  type DueWebhook,
  FAIL_DELIVERIES,
  FINISH_DELIVERIES,
} from './deliveries.sql';
import { type DeliveryTopic, NOTICES } from './webhooks.dto';

/** Webhooks of a lane that one statement reads. */
const LOOKED_AT = 1000;
/**
 * Longer than an attempt and storing its outcome take. If the process is killed, another one tries again after this
 * time.
 */
const LEASE_SECONDS = 30;
/** A receiver that takes longer waits in another lane, though what it gets counts as delivered. */
const SLOW_MS = 2000;
/** Deliveries that become FAILED in one statement. */
const FAILED_AT_ONCE = 300;
/** Time that running requests get at shutdown. */
const STOP_MS = Math.min(3000, SEND_TIMEOUT_MS);
/** If one statement does not read all due webhooks, the next look waits this many times the last one's duration. */
const CROWD_RESTS = 4;
const START = { due: '-infinity', id: '00000000-0000-0000-0000-000000000000' };

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
    private readonly environment: ReceiversSettings,
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
    const lanes = LANES.filter((lane) => this.slots.room(lane) > 0);
    if (lanes.length === 0 || performance.now() < this.restsUntil) return;
    const full = this.slots.full();
    const { due, now } = await this.find(lanes, full);
    const [disabled, waiting] = [due.filter(isDisabled), due.filter((webhook) => !isDisabled(webhook))];
    // At once, as nothing else returns the slots.
    await this.claim(this.slots.share(lanes, full, waiting), now);
    if (disabled.length === 0) return;
    await this.database.write(FAIL_DELIVERIES, {
      webhooks: disabled.map(({ id }) => id),
      most: FAILED_AT_ONCE,
    });
    this.poller.hurry();
  }

  /** All due webhooks, since their order decides whose turn is next. Each comes once, even if it moves meanwhile. */
  private async find(lanes: Lane[], full: string[]): Promise<{ due: DueWebhook[]; now: number }> {
    const found = new Map<string, DueWebhook>();
    const begun = performance.now();
    let now = 0;
    let places = lanes.map((lane) => ({ lane, ...START }));
    for (let read = 1; places.length > 0; read++) {
      const pages = await this.database.readAll(DUE_WEBHOOKS, {
        lanes: places.map(({ lane }) => lane),
        dues: places.map((place) => place.due),
        ids: places.map(({ id }) => id),
        full,
        most: LOOKED_AT,
      });
      for (const page of pages) {
        for (const webhook of page.webhooks) found.set(webhook.id, webhook);
        now ||= page.now;
      }
      places = pages.flatMap(({ lane, due, id }) => (due === null || id === null ? [] : { lane, due, id }));
      if (read > 1) this.restsUntil = performance.now() + CROWD_RESTS * (performance.now() - begun);
    }
    return { due: [...found.values()], now };
  }

  /**
   * Takes what the webhooks have, and sends it in the background. What another process has taken is left to it. Slots
   * that nothing is sent with are free again, whatever fails.
   */
  private async claim(turns: Turn<DueWebhook>[], now: number): Promise<void> {
    const unused = new Map(turns.map(({ webhook, slots }) => [webhook, slots]));
    try {
      const [challenges, others] = [turns.filter(isChallenge), turns.filter((turn) => !isChallenge(turn))];
      const claims = await Promise.allSettled([
        challenges.length === 0
          ? []
          : this.database.writeAll(CLAIM_CHALLENGES, { webhooks: idsOf(challenges) }),
        others.length === 0
          ? []
          : this.database.writeAll(CLAIM_DELIVERIES, {
              webhooks: idsOf(others),
              most: others.map(({ slots }) => slots),
              leaseSeconds: LEASE_SECONDS,
            }),
      ]);
      const [asked, claimed] = claims.map((claim) => (claim.status === 'fulfilled' ? claim.value : [])) as [
        ClaimedChallenge[],
        ClaimedDelivery[],
      ];
      for (const { webhook, slots } of turns) {
        const challenge = asked.find((each) => each.webhook === webhook.id);
        const deliveries = claimed.filter((each) => each.webhook === webhook.id);
        const used = challenge ? 1 : deliveries.length;
        unused.set(webhook, slots - used);
        if (used === 0) continue;
        this.slots.began(webhook, now);
        this.start(webhook, used, challenge ? this.challenge(webhook, challenge) : this.deliver(deliveries));
      }
      const failed = claims.find((claim) => claim.status === 'rejected');
      if (failed) throw failed.reason;
    } finally {
      for (const [webhook, slots] of unused) this.slots.giveBack(webhook, slots);
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
      network: known.find(({ network }) => network)?.network ?? null,
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
    const began = performance.now();
    const challenge = randomBytes(32).toString('base64url');
    const id = uuidv7();
    const message = messageOf(claimed, id, challengeOf(id, challenge));
    const { error, network = null } = await this.client.post(message, this.stop.signal, challenge);
    const slow = performance.now() - began > SLOW_MS;
    if (error !== null && this.stop.signal.aborted) return;
    this.attempts.inc({ outcome: error === null ? 'verified' : 'unverified' });
    if (error === null) this.slots.answered(asked);
    await this.database.write(FINISH_CHALLENGE, { webhook, url, error, slow, network });
  }
}

const isDisabled = ({ status }: DueWebhook): boolean => status === 'DISABLED';
const isChallenge = ({ webhook }: Turn<DueWebhook>): boolean => webhook.lane === 'challenge';
const idsOf = (turns: Turn<DueWebhook>[]): string[] => turns.map(({ webhook }) => webhook.id);

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
