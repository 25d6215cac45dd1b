import type { Webhook } from './webhook.entity';
import type { WebhookItem, WebhookStatus } from './webhooks.dto';

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
