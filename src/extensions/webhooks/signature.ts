import { createHmac, randomBytes } from 'node:crypto';

const PREFIX = 'whsec_';

/** As Standard Webhooks wants it: base64 of 24 to 64 bytes. */
export const newSecret = (): string => `${PREFIX}${randomBytes(32).toString('base64')}`;

/** Node decodes base64url too, in which secrets were written before. */
const keyOf = (secret: string): Buffer => Buffer.from(secret.slice(PREFIX.length), 'base64');

/**
 * The headers that prove where a message comes from: those of Standard Webhooks, and a signature in Stripe's form, whose
 * key is the text of the secret. No one header carries both: some libraries refuse what they do not know in theirs.
 * @param secrets all that sign now, the newest first
 * @param time Unix time in seconds
 */
export function signatureHeaders(
  id: string,
  body: string,
  secrets: string[],
  time = Math.floor(Date.now() / 1000),
): Record<string, string> {
  const standard = secrets.map(
    (secret) => `v1,${createHmac('sha256', keyOf(secret)).update(`${id}.${time}.${body}`).digest('base64')}`,
  );
  const stripes = secrets.map(
    (secret) => `v1=${createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')}`,
  );
  return {
    'webhook-id': id,
    'webhook-timestamp': String(time),
    'webhook-signature': standard.join(' '),
    'savings-signature': [`t=${time}`, ...stripes].join(','),
  };
}
