import { signatureHeaders } from '#extensions/receivers/signature';
import { type DeliveryTopic, NOTICES } from './webhooks.dto';

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

const isNotice = (topic: DeliveryTopic): boolean => (NOTICES as readonly string[]).includes(topic);

/**
 * The event as it was stored. A notice is nothing but its delivery: `reload` has the id of the first event that was left
 * out, which others may have got.
 */
export const bodyOf = ({ event, topic, eventId, createdAt }: Notice & { event: string | null }): string =>
  isNotice(topic) || event === null
    ? JSON.stringify({ id: eventId, topic, occurredAt: createdAt.toISOString() })
    : event;

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
