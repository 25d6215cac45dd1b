import { WebhookSignatureError } from './errors.js';
import type { EventPayload } from './events.js';

const TOLERANCE_SECONDS = 300;

/**
 * Parses a webhook after checking that the service sent it recently.
 * @param body exactly as received, not parsed and serialized again
 * @param header `Webhook-Signature`
 * @param secret from the answer that created the webhook
 * @throws WebhookSignatureError
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  header: string | null | undefined,
  secret: string,
): Promise<EventPayload> {
  // A signature with an empty key proves nothing.
  if (!secret) throw new WebhookSignatureError('there is no secret');
  const fields = (header ?? '').split(',').map((field) => field.trim().split('='));
  const valuesOf = (name: string): string[] =>
    fields.filter((field) => field.length === 2 && field[0] === name).map(([, value]) => value);
  const [time, ...others] = valuesOf('t');
  if (time === undefined || others.length > 0 || !/^\d{1,12}$/.test(time))
    throw new WebhookSignatureError('the header has no time');
  if (Math.abs(Date.now() / 1000 - Number(time)) > TOLERANCE_SECONDS)
    throw new WebhookSignatureError('the time is more than five minutes off');
  const encoder = new TextEncoder();
  const content = typeof body === 'string' ? encoder.encode(body) : body;
  const prefix = encoder.encode(`${time}.`);
  const signed = new Uint8Array(prefix.length + content.length);
  signed.set(prefix);
  signed.set(content, prefix.length);
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), algorithm, false, ['verify']);
  for (const signature of valuesOf('v1'))
    // `verify` compares in constant time.
    if (
      /^[0-9a-f]{64}$/.test(signature) &&
      (await crypto.subtle.verify('HMAC', key, bytesOf(signature), signed))
    )
      return JSON.parse(new TextDecoder().decode(content)) as EventPayload;
  throw new WebhookSignatureError('the signature is not of this body and secret');
}

const bytesOf = (hex: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(hex.match(/../g)!, (byte) => parseInt(byte, 16));
