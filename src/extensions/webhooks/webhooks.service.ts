import { Injectable } from '@nestjs/common';
import { type EntityManager, In, Raw } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { type Page, type PageQuery, pageOf } from '#platform/answers/pagination';
import { Transactions } from '#platform/database/transactions';
import { ApiError, invalidToken, namedError, notFound } from '#platform/errors/errors';
import { knownForm } from '#platform/errors/readable';
import { OutboxPoller } from '#ledger/outbox/outbox-poller';
import type { AuthenticatedUser, Session } from '#features/access/current-user';
import { Sessions } from '#features/access/sessions';
import { User } from '#features/access/user.entity';
import { WebhooksSettings } from './webhooks.settings';
import { newSecret } from './signature';
import { targetOf } from './webhook-target';
import { CHALLENGED } from './deliveries.sql';
import { Webhook, WebhookDelivery } from './webhook.entity';
import type {
  CreateWebhookRequest,
  CreatedWebhook,
  DeletedWebhook,
  DeliveryItem,
  NOTICES,
  RotatedSecret,
  UpdateWebhookRequest,
  WebhookItem,
} from './webhooks.dto';

/** One for each webhook of a user. The table's constraint on `slot` has the same limit. */
const SLOTS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
/** How long the previous secret also signs. */
const OVERLAP = '24 hours';

/**
 * Where a notice stands in the order of events: an id that no event has, since outbox rows of a transaction have
 * positions from 1.
 */
const EVENT_ID = `lpad(to_hex(outbox_xid(pg_current_xact_id())::text::bigint), 12, '0') || '-000000000000-0000'`;

/** Disabled by its owner, so earlier failures no longer count. */
const DISABLED = { status: 'DISABLED', failures: 0, failingSince: null, lastError: null } as const;

/** A time that is still to come. `-infinity` is no Date. */
const coming = (time: Date | number | null): string | null =>
  time instanceof Date && time.getTime() > Date.now() ? time.toISOString() : null;

/** All but its secrets. */
const itemOf = (webhook: Webhook): WebhookItem => ({
  id: webhook.id,
  url: webhook.url,
  topics: webhook.topics,
  createdAt: webhook.createdAt.toISOString(),
  status: webhook.status,
  failures: webhook.failures,
  failingSince: webhook.failingSince?.toISOString() ?? null,
  lastError: webhook.lastError,
  // Webhooks of other statuses are sent to at any time, or never.
  retryAt: ['UNVERIFIED', 'PAUSED'].includes(webhook.status) ? coming(webhook.retryAt) : null,
  pending: webhook.pending,
  isFull: webhook.isFull,
  previousSecretUntil: coming(webhook.previousSecretUntil),
});

const deliveryOf = ({ webhookId: _, tries: __, ...shown }: WebhookDelivery): DeliveryItem => ({
  ...shown,
  nextAttemptAt: shown.status === 'PENDING' ? shown.nextAttemptAt : null,
});

const within = ({ page, limit }: PageQuery): { skip: number; take: number } => ({
  skip: (page - 1) * limit,
  take: limit,
});

/**
 * Requests of a user wait for each other here, so none counts what another is about to add.
 * @throws ApiError 401 if the session has ended meanwhile: ending all sessions then shows all webhooks
 */
async function lockUser(manager: EntityManager, { userId, generation }: Session): Promise<void> {
  const user = await manager.findOne(User, {
    select: { id: true, sessionGeneration: true },
    where: { id: userId },
    lock: { mode: 'for_no_key_update' },
  });
  if (user?.sessionGeneration !== generation) throw invalidToken('token_revoked');
}

/** The webhooks of a user. To others they do not exist. */
@Injectable()
export class WebhooksService {
  constructor(
    private readonly transactions: Transactions,
    private readonly environment: WebhooksSettings,
    private readonly poller: OutboxPoller,
    sessions: Sessions,
  ) {
    sessions.webhooksOf = (userId, end) => this.ofEndedSessions(userId, end);
  }

  /** @throws ApiError 400 for a URL that cannot be sent to, 409 when the user has too many webhooks */
  create(session: Session, { url, topics }: CreateWebhookRequest): Promise<CreatedWebhook> {
    const { userId, address } = session;
    const target = targetOf(url, this.environment);
    const [id, secret] = [uuidv7(), newSecret()];
    return this.write(async (manager) => {
      await lockUser(manager, session);
      const taken = await manager.find(Webhook, { select: { slot: true }, where: { userId } });
      const slot = SLOTS.find((each) => !taken.some((webhook) => webhook.slot === each));
      if (slot === undefined) throw new ApiError(409, `At most ${SLOTS.length} webhooks`);
      const wanted = { ...target, topics: topics ?? null };
      const webhook = { ...CHALLENGED, id, userId, address, slot, ...wanted, secret };
      await manager.insert(Webhook, webhook);
      return { ...itemOf(await manager.findOneByOrFail(Webhook, { id })), secret };
    });
  }

  async list({ userId }: AuthenticatedUser, query: PageQuery): Promise<Page<WebhookItem>> {
    const [webhooks, total] = await this.transactions.read((manager) =>
      manager.findAndCount(Webhook, { where: { userId }, order: { id: 'DESC' }, ...within(query) }),
    );
    return pageOf(webhooks.map(itemOf), total, query);
  }

  /** @throws ApiError 404 */
  async get({ userId }: AuthenticatedUser, text: string): Promise<WebhookItem> {
    const id = knownForm(text).toLowerCase();
    const webhook = await this.transactions.read((manager) => manager.findOneBy(Webhook, { id, userId }));
    if (!webhook) throw notFound();
    return itemOf(webhook);
  }

  /** @throws ApiError 400 for a URL that cannot be sent to, 404 */
  update(session: Session, text: string, request: UpdateWebhookRequest): Promise<WebhookItem> {
    const target = request.url == null ? undefined : targetOf(request.url, this.environment);
    return this.change(session, text, async (webhook, manager) => {
      const { id, status } = webhook;
      const isMoved = target !== undefined && target.url !== webhook.url;
      const isEnabled = request.enabled ?? status !== 'DISABLED';
      if (request.topics !== undefined) await manager.update(Webhook, id, { topics: request.topics });
      if (isMoved) await manager.update(Webhook, id, target);
      if (!isEnabled && status !== 'DISABLED') await manager.update(Webhook, id, DISABLED);
      if (isEnabled && (isMoved || status === 'DISABLED')) await this.begin(manager, webhook);
      return itemOf(await manager.findOneByOrFail(Webhook, { id }));
    });
  }

  /**
   * The previous secret also signs for a while; the one before it no longer does.
   * @throws ApiError 404
   */
  rotate(session: Session, text: string): Promise<RotatedSecret> {
    return this.change(session, text, async ({ id, secret: previousSecret }, manager) => {
      const previousSecretUntil = (): string => `now() + interval '${OVERLAP}'`;
      await manager.update(Webhook, id, { secret: newSecret(), previousSecret, previousSecretUntil });
      const rotated = await manager.findOneByOrFail(Webhook, { id });
      return { id, secret: rotated.secret, previousSecretUntil: rotated.previousSecretUntil!.toISOString() };
    });
  }

  /**
   * Sends an event that says nothing, once.
   * @throws ApiError 404, 409 if the webhook is not active or a test waits already
   */
  test(session: Session, text: string): Promise<DeliveryItem> {
    return this.change(session, text, async ({ id, status }, manager) => {
      if (status !== 'ACTIVE') throw namedError('webhook_not_active');
      const delivery = await this.notify(manager, id, 'test');
      if (!delivery) throw namedError('webhook_test_pending');
      return delivery;
    });
  }

  /**
   * Sends the challenge again, also to a webhook that was DISABLED.
   * @throws ApiError 404, 409 if the webhook needs none, or the owner asked less than a minute ago
   */
  challenge(session: Session, text: string): Promise<WebhookItem> {
    return this.change(session, text, async (webhook, manager) => {
      const { id, status } = webhook;
      if (status === 'ACTIVE' || status === 'PAUSED') throw new ApiError(409, 'The webhook has answered it');
      const challengeAskedAt = Raw((at) => `${at} > now() - interval '1 minute'`);
      if (await manager.existsBy(Webhook, { id, challengeAskedAt }))
        throw new ApiError(409, 'It was sent less than a minute ago');
      await this.begin(manager, webhook);
      return itemOf(await manager.findOneByOrFail(Webhook, { id }));
    });
  }

  /** @throws ApiError 404 */
  async delete({ userId }: AuthenticatedUser, text: string): Promise<DeletedWebhook> {
    const id = knownForm(text).toLowerCase();
    const { affected } = await this.transactions.write((manager) => manager.delete(Webhook, { id, userId }));
    if (!affected) throw notFound();
    return { id };
  }

  /** The user's webhooks when all sessions end, which end with them if they are to. */
  private ofEndedSessions(userId: string, end: boolean): Promise<Pick<WebhookItem, 'id' | 'url'>[]> {
    return this.transactions.write(async (manager) => {
      const select = { id: true, url: true } as const;
      const found = await manager.find(Webhook, { select, where: { userId }, order: { id: 'DESC' } });
      if (end) await manager.delete(Webhook, { userId });
      return found;
    });
  }

  /** @throws ApiError 404 */
  async deliveries(
    { userId }: AuthenticatedUser,
    text: string,
    query: PageQuery,
  ): Promise<Page<DeliveryItem>> {
    const webhookId = knownForm(text);
    const [deliveries, total] = await this.transactions.read(async (manager) => {
      if (!(await manager.existsBy(Webhook, { id: webhookId, userId }))) throw notFound();
      const order = { eventId: 'DESC' } as const;
      return manager.findAndCount(WebhookDelivery, { where: { webhookId }, order, ...within(query) });
    });
    return pageOf(deliveries.map(deliveryOf), total, query);
  }

  /**
   * Sends a delivery again at once, also to a webhook that is PAUSED, and restarts its tries. The number of attempts
   * continues. One that has to prove itself, or gets nothing more, keeps its waits.
   * @throws ApiError 404
   */
  retry({ userId }: AuthenticatedUser, webhook: string, delivery: string): Promise<DeliveryItem> {
    const [webhookId, id] = [knownForm(webhook), knownForm(delivery)];
    return this.write(async (manager) => {
      if (!(await manager.existsBy(Webhook, { id: webhookId, userId }))) throw notFound();
      // Like FINISH_DELIVERIES, it locks the delivery before the webhook.
      await manager.update(
        WebhookDelivery,
        { id, webhookId },
        { status: 'PENDING', nextAttemptAt: () => 'now()', tries: 0, deliveredAt: null },
      );
      const isSent = { id: webhookId, status: In(['ACTIVE', 'PAUSED']) };
      await manager.update(Webhook, isSent, { retryAt: () => `'-infinity'` });
      const retried = await manager.findOneBy(WebhookDelivery, { id, webhookId });
      if (!retried) throw notFound();
      return deliveryOf(retried);
    });
  }

  /** Events come again once the challenge is answered; until then they are left out, which the receiver has to know. */
  private async begin(manager: EntityManager, { id, status }: Webhook): Promise<void> {
    await manager.update(Webhook, id, CHALLENGED);
    if (status !== 'UNVERIFIED') await this.notify(manager, id, 'reload');
  }

  /** @returns the delivery; undefined if one waits already */
  private async notify(
    manager: EntityManager,
    webhookId: string,
    topic: (typeof NOTICES)[number],
  ): Promise<DeliveryItem | undefined> {
    if (await manager.existsBy(WebhookDelivery, { webhookId, topic, status: 'PENDING' })) return undefined;
    const id = uuidv7();
    await manager.insert(WebhookDelivery, { id, webhookId, eventId: () => EVENT_ID, topic });
    return deliveryOf(await manager.findOneByOrFail(WebhookDelivery, { id }));
  }

  /** What becomes due is sent at once. */
  private async write<Result>(work: (manager: EntityManager) => Promise<Result>): Promise<Result> {
    const result = await this.transactions.write(work);
    this.poller.hurry();
    return result;
  }

  /** Changes of one webhook, and its deliveries that end, wait for each other. */
  private change<Result>(
    session: Session,
    text: string,
    work: (webhook: Webhook, manager: EntityManager) => Promise<Result>,
  ): Promise<Result> {
    const where = { id: knownForm(text).toLowerCase(), userId: session.userId };
    return this.write(async (manager) => {
      await lockUser(manager, session);
      const webhook = await manager.findOne(Webhook, { where, lock: { mode: 'for_no_key_update' } });
      if (!webhook) throw notFound();
      return work(webhook, manager);
    });
  }
}
