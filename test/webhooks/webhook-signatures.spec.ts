import { verifyWebhook } from '@pooled-savings/client/webhooks';
import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import Stripe from 'stripe';
import { newSecret, signatureHeaders } from '#extensions/webhooks/signature';

const ID = '01a1fc82-bdbe-7705-b6e7-18a25150920b';
const BODY = JSON.stringify({ id: '1', topic: 'draw.opened' });
type Headers = Record<string, string>;
type Verify = (body: string, headers: Headers, secret: string) => unknown;

/** Three receivers, each as its library tells to write it. */
const standard: Verify = (body, headers, secret) => new Webhook(secret).verify(body, headers);
const stripe: Verify = (body, headers, secret) =>
  Stripe.webhooks.constructEvent(body, headers['savings-signature'], secret);
const client: Verify = (body, headers, secret) => verifyWebhook(body, headers, secret);
const stripesByClient: Verify = (body, headers, secret) =>
  verifyWebhook(body, headers['savings-signature'], secret);
const RECEIVERS: [string, Verify][] = [
  ['standardwebhooks', standard],
  ['stripe', stripe],
  ['the client', client],
  ['the client, by Savings-Signature alone', stripesByClient],
];

const takes = async (verify: Verify, body: string, headers: Headers, secret: string): Promise<void> =>
  expect(await verify(body, headers, secret)).toEqual(JSON.parse(body));
const refuses = async (verify: Verify, body: string, headers: Headers, secret: string): Promise<void> =>
  expect(Promise.resolve().then(() => verify(body, headers, secret))).rejects.toThrow();

describe.each(RECEIVERS)('a signature as %s verifies it', (_name, verify) => {
  const secret = newSecret();

  it.each([BODY, JSON.stringify({ text: 'ä€😀\u2028 "\\' }), '{ "spaced" : 1 }'])(
    'is of the body: %s',
    (body) => takes(verify, body, signatureHeaders(ID, body, [secret]), secret),
  );

  it('is of the new and the old secret while it rotates, and of no other', async () => {
    const [old, next] = [newSecret(), newSecret()];
    const headers = signatureHeaders(ID, BODY, [next, old]);
    await takes(verify, BODY, headers, next);
    await takes(verify, BODY, headers, old);
    await refuses(verify, BODY, headers, secret);
    await refuses(verify, BODY, signatureHeaders(ID, BODY, [next]), old);
  });
});

describe('a secret', () => {
  it('is base64 of 24 to 64 bytes, as Standard Webhooks wants it', () => {
    for (let n = 0; n < 20; n++) expect(newSecret()).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  });

  it('of before, in base64url, still signs in both forms', async () => {
    const old = 'whsec_-_Zt1mJ0m9eYt0m3b3k0l6m2y3xS6m1yq8WbXgE2sJ1';
    const headers = signatureHeaders(ID, BODY, [old]);
    await takes(stripe, BODY, headers, old);
    await takes(client, BODY, headers, old);
    await takes(stripesByClient, BODY, headers, old);
    // The library knows only standard base64. The bytes are the same.
    const bytes = Buffer.from(old.slice('whsec_'.length), 'base64url');
    await takes(standard, BODY, headers, `whsec_${bytes.toString('base64')}`);
    expect(headers['savings-signature']).toBe(
      `t=${headers['webhook-timestamp']},v1=${createHmac('sha256', old).update(`${headers['webhook-timestamp']}.${BODY}`).digest('hex')}`,
    );
  });
});
