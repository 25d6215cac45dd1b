import { byPages } from './pages.js';
import type * as Types from './types.js';
import type { Api, Page, RequestOptions } from './types.js';

const at = (id: string): { path: { id: string } } => ({ path: { id } });

/** Servers of the caller that the service tells what happens. `verifyWebhook` is for those servers. */
export class Webhooks {
  constructor(private readonly api: Api) {}

  async list(query: Types.WebhooksQuery = {}, { signal }: RequestOptions = {}): Promise<Page<Types.Webhook>> {
    return (await this.api.GET('/webhooks', { params: { query }, signal })).data!;
  }

  async get(id: string, { signal }: RequestOptions = {}): Promise<Types.Webhook> {
    return (await this.api.GET('/webhooks/{id}', { params: at(id), signal })).data!.data;
  }

  /** The only answer with the secret, by which the server knows what comes from the service. */
  async create(body: Types.NewWebhook, { signal }: RequestOptions = {}): Promise<Types.CreatedWebhook> {
    return (await this.api.POST('/webhooks', { body, signal })).data!.data;
  }

  /** Changes what is given. */
  async update(
    id: string,
    body: Types.WebhookChanges,
    { signal }: RequestOptions = {},
  ): Promise<Types.Webhook> {
    return (await this.api.PATCH('/webhooks/{id}', { params: at(id), body, signal })).data!.data;
  }

  async delete(id: string, { signal }: RequestOptions = {}): Promise<void> {
    await this.api.DELETE('/webhooks/{id}', { params: at(id), signal });
  }

  /** A new secret. The one before signs too for a day. */
  async rotate(id: string, { signal }: RequestOptions = {}): Promise<Types.RotatedSecret> {
    return (await this.api.POST('/webhooks/{id}/secret', { params: at(id), signal })).data!.data;
  }

  /** Sends an event of the topic `test`, once. */
  async test(id: string, { signal }: RequestOptions = {}): Promise<Types.Delivery> {
    return (await this.api.POST('/webhooks/{id}/test', { params: at(id), signal })).data!.data;
  }

  /** Asks the server again whether it wants the events. */
  async challenge(id: string, { signal }: RequestOptions = {}): Promise<Types.Webhook> {
    return (await this.api.POST('/webhooks/{id}/challenge', { params: at(id), signal })).data!.data;
  }

  /** What was and will be sent, that of the newest event first. */
  async deliveries(
    id: string,
    query: Types.DeliveriesQuery = {},
    { signal }: RequestOptions = {},
  ): Promise<Page<Types.Delivery>> {
    const params = { ...at(id), query };
    return (await this.api.GET('/webhooks/{id}/deliveries', { params, signal })).data!;
  }

  allDeliveries(id: string, options?: RequestOptions): AsyncGenerator<Types.Delivery> {
    return byPages((page) => this.deliveries(id, { limit: 100, page }, options));
  }

  /** Sends a delivery again, at once. */
  async retry(id: string, delivery: string, { signal }: RequestOptions = {}): Promise<Types.Delivery> {
    const params = { path: { id, delivery } };
    return (await this.api.POST('/webhooks/{id}/deliveries/{delivery}/retry', { params, signal })).data!.data;
  }
}
