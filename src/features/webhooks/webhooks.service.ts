import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, In, Repository } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { type Page, pageOf } from '#platform/answers/pagination';
import { Transactions } from '#platform/database/transactions';
import { ApiError, invalidToken, notFound } from '#platform/errors/errors';
import { knownForm } from '#platform/errors/readable';
import { OutboxPoller } from '#ledger/outbox/outbox-poller';
import type { AuthenticatedUser, Session } from '#features/access/current-user';
import { User } from '#features/access/user.entity';
import { ReceiversSettings } from '#features/receivers/receivers.settings';
import { newSecret } from '#features/receivers/signature';
import { requireTarget } from '#features/receivers/webhook-target';
import { CHALLENGED, MAY_BE_CHALLENGED } from './challenges.sql';
import { DELIVERY, ITEM, deliveryOf, itemOf } from './webhook-item';
import { Webhook, WebhookDelivery } from './webhook.entity';
import type {
  CreateWebhookRequest,
  CreatedWebhook,
  DeletedWebhook,
  DeliveryItem,
  ListDeliveriesQuery,
  ListWebhooksQuery,
  WebhookItem,
} from './webhooks.dto';

/** One for each webhook of a user. The table's constraint on `slot` has the same limit. */
const SLOTS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

const within = ({ page, limit }: ListWebhooksQuery): { skip: number; take: number } => ({
  skip: (page - 1) * limit,
  take: limit,
});

/**
 * Requests of a user wait for each other here, so none counts what another is about to add.
 * @throws ApiError 401 if the session has ended meanwhile: whoever ends all sessions then sees all webhooks
 */
export async function lockUser(manager: EntityManager, { userId, generation }: Session): Promise<void> {
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
    @InjectRepository(Webhook) private readonly webhooks: Repository<Webhook>,
    @InjectRepository(WebhookDelivery) private readonly sent: Repository<WebhookDelivery>,
    private readonly transactions: Transactions,
    private readonly environment: ReceiversSettings,
    private readonly poller: OutboxPoller,
  ) {}

  /** @throws ApiError 400 for a URL that cannot be sent to, 409 when the user has too many webhooks */
  async create(session: Session, { url, topics }: CreateWebhookRequest): Promise<CreatedWebhook> {
    const { userId, address } = session;
    const target = requireTarget(url, this.environment);
    const secret = newSecret();
    const id = uuidv7();
    const created = await this.transactions.write(async (manager) => {
      const webhooks = manager.withRepository(this.webhooks);
      await lockUser(manager, session);
      const taken = await webhooks.find({ select: { slot: true }, where: { userId } });
      const slot = SLOTS.find((each) => !taken.some((webhook) => webhook.slot === each));
      if (slot === undefined) throw new ApiError(409, `At most ${SLOTS.length} webhooks`);
      await webhooks.insert({
        ...CHALLENGED,
        id,
        userId,
        address,
        slot,
        ...target,
        topics: topics ?? null,
        secret,
      });
      return { ...itemOf(await webhooks.findOneOrFail({ select: ITEM, where: { id } })), secret };
    });
    this.poller.hurry();
    return created;
  }

  /**
   * Sends the challenge again, also to a webhook that was DISABLED.
   * @throws ApiError 404, 409 if the webhook needs none, or the owner asked less than a minute ago
   */
  async challenge({ userId }: AuthenticatedUser, text: string): Promise<WebhookItem> {
    const id = knownForm(text);
    const item = await this.transactions.write(async (manager) => {
      const webhooks = manager.withRepository(this.webhooks);
      const { affected } = await webhooks
        .createQueryBuilder()
        .update(CHALLENGED)
        .where({ id, userId })
        .andWhere(MAY_BE_CHALLENGED)
        .execute();
      const webhook = await webhooks.findOne({ select: { ...ITEM, status: true }, where: { id, userId } });
      if (!webhook) throw notFound();
      if (affected) return itemOf(webhook);
      const isVerified = webhook.status === 'ACTIVE' || webhook.status === 'PAUSED';
      const reason = isVerified ? 'The webhook has answered it' : 'It was sent less than a minute ago';
      throw new ApiError(409, reason);
    });
    this.poller.hurry();
    return item;
  }

  async list({ userId }: AuthenticatedUser, query: ListWebhooksQuery): Promise<Page<WebhookItem>> {
    const [webhooks, total] = await this.transactions.read((manager) =>
      manager
        .withRepository(this.webhooks)
        .findAndCount({ select: ITEM, where: { userId }, order: { id: 'DESC' }, ...within(query) }),
    );
    return pageOf(webhooks.map(itemOf), total, query);
  }

  /** @throws ApiError 404 */
  async get({ userId }: AuthenticatedUser, text: string): Promise<WebhookItem> {
    const id = knownForm(text).toLowerCase();
    const webhook = await this.transactions.read((manager) =>
      manager.withRepository(this.webhooks).findOne({ select: ITEM, where: { id, userId } }),
    );
    if (!webhook) throw notFound();
    return itemOf(webhook);
  }

  /** The user's webhooks when all sessions end, which end with them if they are to. */
  ofEndedSessions(userId: string, end: boolean): Promise<Pick<WebhookItem, 'id' | 'url'>[]> {
    return this.transactions.write(async (manager) => {
      const webhooks = manager.withRepository(this.webhooks);
      const select = { id: true, url: true } as const;
      const found = await webhooks.find({ select, where: { userId }, order: { id: 'DESC' } });
      if (end && found.length > 0) await webhooks.delete(found.map(({ id }) => id));
      return found;
    });
  }

  /** @throws ApiError 404 */
  async delete({ userId }: AuthenticatedUser, text: string): Promise<DeletedWebhook> {
    const id = knownForm(text).toLowerCase();
    const { affected } = await this.transactions.write((manager) =>
      manager.withRepository(this.webhooks).delete({ id, userId }),
    );
    if (!affected) throw notFound();
    return { id };
  }

  /** @throws ApiError 404 */
  async deliveries(
    { userId }: AuthenticatedUser,
    text: string,
    query: ListDeliveriesQuery,
  ): Promise<Page<DeliveryItem>> {
    const id = knownForm(text);
    const [deliveries, total] = await this.transactions.read(async (manager) => {
      if (!(await manager.withRepository(this.webhooks).existsBy({ id, userId }))) throw notFound();
      const order = { eventId: 'DESC' } as const;
      return manager
        .withRepository(this.sent)
        .findAndCount({ select: DELIVERY, where: { webhookId: id }, order, ...within(query) });
    });
    return pageOf(deliveries.map(deliveryOf), total, query);
  }

  /**
   * Sends a delivery again at once, also to a webhook that is PAUSED, and restarts its tries. The number of attempts
   * continues. One that has to prove itself, or gets nothing more, keeps its waits.
   * @throws ApiError 404
   */
  async retry({ userId }: AuthenticatedUser, webhook: string, delivery: string): Promise<DeliveryItem> {
    const [webhookId, id] = [knownForm(webhook), knownForm(delivery)];
    const retried = await this.transactions.write(async (manager) => {
      if (!(await manager.withRepository(this.webhooks).existsBy({ id: webhookId, userId })))
        throw notFound();
      const sent = manager.withRepository(this.sent);
      await sent.update(
        { id, webhookId },
        { status: 'PENDING', nextAttemptAt: () => 'now()', tries: 0, deliveredAt: null },
      );
      await manager
        .withRepository(this.webhooks)
        .update({ id: webhookId, status: In(['ACTIVE', 'PAUSED']) }, { retryAt: () => `'-infinity'` });
      return sent.findOne({ select: DELIVERY, where: { id, webhookId } });
    });
    if (!retried) throw notFound();
    this.poller.hurry();
    return deliveryOf(retried);
  }
}
