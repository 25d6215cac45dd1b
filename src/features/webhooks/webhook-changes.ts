import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, Repository } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Transactions } from '#platform/database/transactions';
import { namedError, notFound } from '#platform/errors/errors';
import { knownForm } from '#platform/errors/readable';
import { OutboxPoller } from '#ledger/outbox/outbox-poller';
import type { Session } from '#features/access/current-user';
import { ReceiversSettings } from '#features/receivers/receivers.settings';
import { newSecret } from '#features/receivers/signature';
import { type Target, requireTarget, targetOf } from '#features/receivers/webhook-target';
import { CHALLENGED } from './challenges.sql';
import { DELIVERY, deliveryOf, itemOf } from './webhook-item';
import { Webhook, WebhookDelivery } from './webhook.entity';
import type { DeliveryItem, NOTICES, RotatedSecret, UpdateWebhookRequest, WebhookItem } from './webhooks.dto';
import { lockUser } from './webhooks.service';

/** How long the secret before signs too. */
const OVERLAP = '24 hours';

/**
 * Where a notice stands in the order of events: an id that no event has, since outbox rows of a transaction have
 * positions from 1.
 */
const EVENT_ID = `lpad(to_hex(outbox_xid(pg_current_xact_id())::text::bigint), 12, '0') || '-000000000000-0000'`;

/** Its owner knows why, so how it failed before counts no more. */
const DISABLED = { status: 'DISABLED', failures: 0, failingSince: null, lastError: null } as const;

/** What the owner of a webhook does with it. To others it does not exist. */
@Injectable()
export class WebhookChanges {
  constructor(
    @InjectRepository(Webhook) private readonly webhooks: Repository<Webhook>,
    @InjectRepository(WebhookDelivery) private readonly sent: Repository<WebhookDelivery>,
    private readonly transactions: Transactions,
    private readonly environment: ReceiversSettings,
    private readonly poller: OutboxPoller,
  ) {}

  /** @throws ApiError 400 for a URL that cannot be sent to, 404 */
  async update(session: Session, text: string, request: UpdateWebhookRequest): Promise<WebhookItem> {
    const target = request.url == null ? undefined : requireTarget(request.url, this.environment);
    const item = await this.change(session, text, async (webhook, manager) => {
      const webhooks = manager.withRepository(this.webhooks);
      const isMoved = target !== undefined && !this.leadsTo(webhook, target);
      const isEnabled = request.enabled ?? webhook.status !== 'DISABLED';
      if (request.topics !== undefined) await webhooks.update(webhook.id, { topics: request.topics });
      if (isMoved) await webhooks.update(webhook.id, target);
      if (!isEnabled && webhook.status !== 'DISABLED') await webhooks.update(webhook.id, DISABLED);
      if (isEnabled && (isMoved || webhook.status === 'DISABLED')) {
        await webhooks.update(webhook.id, CHALLENGED);
        // Until the challenge is answered events are left out, which the receiver has to know.
        if (webhook.status !== 'UNVERIFIED') await this.notify(manager, webhook, 'reload');
      }
      return itemOf(await webhooks.findOneByOrFail({ id: webhook.id }));
    });
    this.poller.hurry();
    return item;
  }

  /**
   * The secret before signs beside the new one for a while, the one before that no more.
   * @throws ApiError 404
   */
  rotate(session: Session, text: string): Promise<RotatedSecret> {
    return this.change(session, text, async ({ id, secret: previousSecret }, manager) => {
      const webhooks = manager.withRepository(this.webhooks);
      const previousSecretUntil = (): string => `now() + interval '${OVERLAP}'`;
      await webhooks.update(id, { secret: newSecret(), previousSecret, previousSecretUntil });
      const rotated = await webhooks.findOneByOrFail({ id });
      return {
        id,
        secret: rotated.secret,
        previousSecretUntil: rotated.previousSecretUntil!.toISOString(),
      };
    });
  }

  /**
   * Sends an event that says nothing, once.
   * @throws ApiError 404, 409 if the webhook is not active or a test waits already
   */
  async test(session: Session, text: string): Promise<DeliveryItem> {
    const delivery = await this.change(session, text, async (webhook, manager) => {
      if (webhook.status !== 'ACTIVE') throw namedError('webhook_not_active');
      const delivery = await this.notify(manager, webhook, 'test');
      if (!delivery) throw namedError('webhook_test_pending');
      return delivery;
    });
    this.poller.hurry();
    return delivery;
  }

  /** @returns the delivery; undefined if one waits already */
  private async notify(
    manager: EntityManager,
    { id: webhookId }: Webhook,
    topic: (typeof NOTICES)[number],
  ): Promise<DeliveryItem | undefined> {
    const sent = manager.withRepository(this.sent);
    if (await sent.existsBy({ webhookId, topic, status: 'PENDING' })) return undefined;
    const id = uuidv7();
    await sent.insert({ id, webhookId, eventId: () => EVENT_ID, topic });
    return deliveryOf(await sent.findOneOrFail({ select: DELIVERY, where: { id } }));
  }

  /** Changes of one webhook, and its deliveries that end, wait for each other. */
  private change<Result>(
    session: Session,
    text: string,
    work: (webhook: Webhook, manager: EntityManager) => Promise<Result>,
  ): Promise<Result> {
    const id = knownForm(text).toLowerCase();
    return this.transactions.write(async (manager) => {
      await lockUser(manager, session);
      const webhook = await manager
        .withRepository(this.webhooks)
        .findOne({ where: { id, userId: session.userId }, lock: { mode: 'for_no_key_update' } });
      if (!webhook) throw notFound();
      return work(webhook, manager);
    });
  }

  /** Also if its URL was stored in another form. */
  private leadsTo({ url }: Webhook, target: Target): boolean {
    const present = targetOf(url, this.environment);
    return url === target.url || (typeof present === 'object' && present.url === target.url);
  }
}
