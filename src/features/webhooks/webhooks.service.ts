import { Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { JsonText } from '#platform/answers/json-text';
import { Page } from '#platform/answers/pagination';
import { Database } from '#platform/database/database';
import { ApiError, notFound, validationFailed } from '#platform/errors/errors';
import { knownForm } from '#platform/errors/readable';
import { OutboxPoller } from '#ledger/outbox/outbox-poller';
import type { AuthenticatedUser } from '#features/access/current-user';
import { WebhooksSettings } from './webhooks.settings';
import { problemOf } from './webhook-target';
import type {
  CreateWebhookRequest,
  CreatedWebhook,
  DeletedWebhook,
  DeliveryItem,
  ListDeliveriesQuery,
  ListWebhooksQuery,
  WebhookItem,
} from './webhooks.dto';
import {
  CREATE_WEBHOOK,
  DELETE_WEBHOOK,
  LIST_DELIVERIES,
  LIST_WEBHOOKS,
  MAX_WEBHOOKS,
  RETRY_DELIVERY,
} from './webhooks.sql';

/** The webhooks of a user. To others they do not exist. */
@Injectable()
export class WebhooksService {
  constructor(
    private readonly database: Database,
    private readonly environment: WebhooksSettings,
    private readonly poller: OutboxPoller,
  ) {}

  /** @throws ApiError 400 for a URL that cannot be sent to, 409 when the user has too many webhooks */
  async create(
    { userId: user, address }: AuthenticatedUser,
    { url, topics }: CreateWebhookRequest,
  ): Promise<JsonText<CreatedWebhook>> {
    const problem = problemOf(url, this.environment);
    if (problem) throw validationFailed({ field: 'url', message: problem });
    const secret = `whsec_${randomBytes(32).toString('base64url')}`;
    const webhook = { id: uuidv7(), user, address, url, topics: topics ?? null, secret };
    // Concurrent requests may want the same slot; at least one of them gets it each time.
    for (let attempt = 0; attempt < MAX_WEBHOOKS; attempt++) {
      const { full, data } = (await this.database.write(CREATE_WEBHOOK, webhook))!;
      if (data !== null) return new JsonText(data);
      if (full) break;
    }
    throw new ApiError(409, `At most ${MAX_WEBHOOKS} webhooks`);
  }

  async list({ userId }: AuthenticatedUser, query: ListWebhooksQuery): Promise<Page<WebhookItem>> {
    const { page, limit } = query;
    const row = await this.database.read(LIST_WEBHOOKS, { user: userId, limit, offset: (page - 1) * limit });
    return new Page(new JsonText(row!.data), row!.total, query);
  }

  /** @throws ApiError 404 */
  async delete({ userId }: AuthenticatedUser, id: string): Promise<JsonText<DeletedWebhook>> {
    const row = await this.database.write(DELETE_WEBHOOK, { user: userId, webhook: knownForm(id) });
    if (!row) throw notFound();
    return new JsonText(row.data);
  }

  /** @throws ApiError 404 */
  async deliveries(
    { userId }: AuthenticatedUser,
    id: string,
    query: ListDeliveriesQuery,
  ): Promise<Page<DeliveryItem>> {
    const { page, limit } = query;
    const parameters = { user: userId, webhook: knownForm(id), limit, offset: (page - 1) * limit };
    const row = await this.database.read(LIST_DELIVERIES, parameters);
    if (!row) throw notFound();
    return new Page(new JsonText(row.data), row.total, query);
  }

  /** @throws ApiError 404 */
  async retry({ userId }: AuthenticatedUser, id: string, delivery: string): Promise<JsonText<DeliveryItem>> {
    const parameters = { user: userId, webhook: knownForm(id), delivery: knownForm(delivery) };
    const row = await this.database.write(RETRY_DELIVERY, parameters);
    if (!row) throw notFound();
    this.poller.hurry();
    return new JsonText(row.data);
  }
}
