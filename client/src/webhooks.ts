import { WebhookSignatureError } from './errors.js';
import type { components } from './schema.js';
import { bytesOf } from './tokens.js';

export { WebhookSignatureError };

const TOLERANCE_SECONDS = 300;

/** `Headers`, or an object of Node.js, Express and the like. */
type SignedHeaders =
  { get(name: string): string | null } | Readonly<Record<string, string | readonly string[] | undefined>>;

type Schemas = components['schemas'];

/** No event: events were left out, so load again what you keep, or the owner of the webhook asked for a test. */
export type WebhookNotice = Schemas['WebhookNotice'];

/** Before the first event: answer with `{"challenge": "…"}` if you have made a webhook that leads here. */
export type WebhookChallenge = Schemas['WebhookChallenge'];

export type WebhookPayload = Schemas['EventPayload'] | WebhookNotice | WebhookChallenge;

/** What was signed before the body, with which key, and the signatures, one of which has to fit. */
interface Signed {
  time: string | undefined;
  prefix: string;
  key: Uint8Array<ArrayBuffer>;
  signatures: Uint8Array<ArrayBuffer>[];
}

/**
 * Parses a webhook after checking that the service sent it recently. While a secret rotates, the old and the new one
 * verify.
 * @param body exactly as received, not parsed and serialized again
 * @param headers of the request; or only the value of `Savings-Signature`
 * @param secret from the answer that created the webhook or rotated its secret
 * @throws WebhookSignatureError
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: SignedHeaders | string | null | undefined,
  secret: string,
): Promise<WebhookPayload> {
  // A signature with an empty key proves nothing.
  if (!secret) throw new WebhookSignatureError('there is no secret');
  const { time, prefix, key, signatures } = signedBy(headers ?? '', secret);
  if (time === undefined || !/^\d{1,12}$/.test(time))
    throw new WebhookSignatureError('the headers have no time');
  if (Math.abs(Date.now() / 1000 - Number(time)) > TOLERANCE_SECONDS)
    throw new WebhookSignatureError('the time is more than five minutes off');
  if (key.length === 0) throw new WebhookSignatureError('the secret is none of this service');
  const encoder = new TextEncoder();
  const content = typeof body === 'string' ? encoder.encode(body) : body;
  const before = encoder.encode(prefix);
  const signed = new Uint8Array(before.length + content.length);
  signed.set(before);
  signed.set(content, before.length);
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const imported = await crypto.subtle.importKey('raw', key, algorithm, false, ['verify']);
  for (const signature of signatures)
    // `verify` compares in constant time.
    if (await crypto.subtle.verify('HMAC', imported, signature, signed))
      return JSON.parse(new TextDecoder().decode(content)) as WebhookPayload;
  throw new WebhookSignatureError('the signature is not of this body and secret');
}

/** By the headers of Standard Webhooks, or if they are not there, by that of Stripe's form. */
function signedBy(headers: SignedHeaders | string, secret: string): Signed {
  if (typeof headers === 'string') return stripes(headers, secret);
  const signature = valueOf(headers, 'webhook-signature');
  if (!signature) return stripes(valueOf(headers, 'savings-signature') ?? '', secret);
  const [id, time] = [valueOf(headers, 'webhook-id'), valueOf(headers, 'webhook-timestamp')];
  if (!id) throw new WebhookSignatureError('there is no Webhook-Id');
  const signatures = signature.split(' ').map((each) => /^v1,([A-Za-z0-9+/]{43}=)$/.exec(each)?.[1]);
  return {
    time,
    prefix: `${id}.${time}.`,
    key: /^whsec_[\w+/-]+=*$/.test(secret) ? bytesOf(secret.slice('whsec_'.length)) : new Uint8Array(),
    signatures: signatures.filter((each) => each !== undefined).map(bytesOf),
  };
}

function stripes(header: string, secret: string): Signed {
  if (header.startsWith('v1,'))
    throw new WebhookSignatureError('Webhook-Signature needs the other headers: pass them all');
  const fields = header.split(',').map((field) => field.trim().split('='));
  const valuesOf = (name: string): string[] =>
    fields.filter((field) => field.length === 2 && field[0] === name).map(([, value]) => value);
  const [time, ...others] = valuesOf('t');
  return {
    time: others.length > 0 ? undefined : time,
    prefix: `${time}.`,
    key: new TextEncoder().encode(secret),
    signatures: valuesOf('v1')
      .filter((each) => /^[0-9a-f]{64}$/.test(each))
      .map((hex) => Uint8Array.from(hex.match(/../g)!, (byte) => parseInt(byte, 16))),
  };
}

/** The first one, should there be several. */
function valueOf(headers: SignedHeaders, name: string): string | undefined {
  if (typeof headers.get === 'function') return (headers as Headers).get(name) ?? undefined;
  const [, value] = Object.entries(headers).find(([each]) => each.toLowerCase() === name) ?? [];
  return typeof value === 'string' ? value : (value as string[] | undefined)?.[0];
}
