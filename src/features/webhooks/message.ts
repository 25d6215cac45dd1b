import { signatureHeaders } from '#features/receivers/signature';
import type { DeliveryTopic } from './webhooks.dto';

/** What a webhook is sent, signed now. */
export interface Message {
  url: string;
  headers: Record<string, string>;
  body: string;
}

interface Notice {
  topic: DeliveryTopic;
  eventId: string;
  createdAt: Date;
}

/** The event as it was stored. A notice, such as `reload`, is nothing but its delivery. */
export const bodyOf = ({ event, topic, eventId, createdAt }: Notice & { event: string | null }): string =>
  event ?? JSON.stringify({ id: eventId, topic, occurredAt: createdAt.toISOString() });

/** Asks whoever has named the URL to repeat a text. */
export const challengeOf = (id: string, challenge: string): string =>
  JSON.stringify({ id, topic: 'challenge', occurredAt: new Date().toISOString(), challenge });

export const messageOf = (
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
