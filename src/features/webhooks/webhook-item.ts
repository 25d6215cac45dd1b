import type { Webhook, WebhookDelivery } from './webhook.entity';
import type { DeliveryItem, WebhookItem, WebhookStatus } from './webhooks.dto';

/** What is read of a webhook to show it: all but its secrets. */
export const ITEM = {
  id: true,
  url: true,
  topics: true,
  createdAt: true,
  status: true,
  failures: true,
  failingSince: true,
  lastError: true,
  retryAt: true,
  pending: true,
  isFull: true,
  previousSecretUntil: true,
} as const;

/** Whether something is sent to it after a while. */
const WAITS: Record<WebhookStatus, boolean> = {
  UNVERIFIED: true,
  ACTIVE: false,
  PAUSED: true,
  DISABLED: false,
};

/** A time that is still to come. `-infinity` is no Date. */
const coming = (time: Date | number | null): string | null =>
  time instanceof Date && time.getTime() > Date.now() ? time.toISOString() : null;

export const itemOf = (webhook: Webhook): WebhookItem => ({
  id: webhook.id,
  url: webhook.url,
  topics: webhook.topics,
  createdAt: webhook.createdAt.toISOString(),
  status: webhook.status,
  failures: webhook.failures,
  failingSince: webhook.failingSince?.toISOString() ?? null,
  lastError: webhook.lastError,
  retryAt: WAITS[webhook.status] ? coming(webhook.retryAt) : null,
  pending: webhook.pending,
  isFull: webhook.isFull,
  previousSecretUntil: coming(webhook.previousSecretUntil),
});

export const DELIVERY = {
  id: true,
  eventId: true,
  topic: true,
  status: true,
  attempts: true,
  lastStatus: true,
  lastError: true,
  nextAttemptAt: true,
  createdAt: true,
  deliveredAt: true,
} as const;
export const deliveryOf = (delivery: WebhookDelivery): DeliveryItem => ({
  id: delivery.id,
  eventId: delivery.eventId,
  topic: delivery.topic,
  status: delivery.status,
  attempts: delivery.attempts,
  lastStatus: delivery.lastStatus,
  lastError: delivery.lastError,
  nextAttemptAt: delivery.status === 'PENDING' ? delivery.nextAttemptAt.toISOString() : null,
  createdAt: delivery.createdAt.toISOString(),
  deliveredAt: delivery.deliveredAt?.toISOString() ?? null,
});
