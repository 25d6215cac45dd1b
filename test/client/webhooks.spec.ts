import { verifyWebhook } from '@pooled-savings/client';
import { createHmac } from 'node:crypto';

const SECRET = 'whsec_2sJ1q0Zt1mJ0m9eYt0m3b3k0l6m2y3xS6m1yq8WbXgE';
const BODY = JSON.stringify({ id: '1', topic: 'draw.opened', text: 'ä€😀' });
const now = (): number => Math.floor(Date.now() / 1000);
const hmac = (body: string, time: number | string, secret = SECRET): string =>
  createHmac('sha256', secret).update(`${time}.${body}`).digest('hex');
const header = (time = now(), body = BODY, secret = SECRET): string =>
  `t=${time},v1=${hmac(body, time, secret)}`;

describe('verifyWebhook', () => {
  it.each([
    ['text', BODY],
    ['bytes', new TextEncoder().encode(BODY)],
    ['a Buffer within another', Buffer.from(`x${BODY}`).subarray(1)],
  ])('gives the event of a signed body: %s', async (_what, body) => {
    expect(await verifyWebhook(body, header(), SECRET)).toEqual(JSON.parse(BODY));
  });

  it('takes one good signature among others, as when a secret is changed', async () => {
    const time = now();
    const both = `t=${time}, v1=${'0'.repeat(64)}, v1=${hmac(BODY, time)}, v2=x`;
    await expect(verifyWebhook(BODY, both, SECRET)).resolves.toBeDefined();
  });

  it('allows five minutes, either way', async () => {
    for (const seconds of [-290, 290])
      await expect(verifyWebhook(BODY, header(now() + seconds), SECRET)).resolves.toBeDefined();
    for (const seconds of [-310, 310])
      await expect(verifyWebhook(BODY, header(now() + seconds), SECRET)).rejects.toThrow('five minutes');
  });

  const good = hmac(BODY, now());
  it.each<[string, string | null | undefined, string?, string?]>([
    ['another body', header(), `${BODY} `],
    ['another secret', header(now(), BODY, 'another')],
    ['another time', header().replace(/t=\d+/, `t=${now() - 5}`)],
    ['two times', `t=${now()},${header()}`],
    ['no time', `v1=${good}`],
    ['no signature', `t=${now()}`],
    ['a signature that is cut', header().slice(0, -2)],
    ['a longer signature', `${header()}00`],
    ['a signature of no hex', `t=${now()},v1=${'z'.repeat(64)}`],
    ['an empty signature', `t=${now()},v1=`],
    ['another version', header().replace('v1', 'v0')],
    ['a time that is no number', `t=NaN,v1=${hmac(BODY, 'NaN')}`],
    ['an empty header', ''],
    ['no header', undefined],
    ['no header, as Headers say it', null],
    ['an empty secret', header(now(), BODY, ''), BODY, ''],
  ])('refuses %s', async (_what, given, body = BODY, secret = SECRET) => {
    const refused = { code: 'webhook_signature', name: 'WebhookSignatureError' };
    await expect(verifyWebhook(body, given, secret)).rejects.toMatchObject(refused);
  });
});
