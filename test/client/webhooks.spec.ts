import { verifyWebhook } from '@pooled-savings/client/webhooks';
import { createHmac } from 'node:crypto';

const SECRET = 'whsec_2sJ1q0Zt1mJ0m9eYt0m3b3k0l6m2y3xS6m1yq8WbXgE';
const BODY = JSON.stringify({ id: '1', topic: 'draw.opened', text: 'ä€😀' });
/** The time that it is in all tests. */
const NOW = 1_800_000_000;
const now = (): number => NOW;
beforeEach(() => void jest.spyOn(Date, 'now').mockReturnValue(NOW * 1000));
afterEach(() => jest.restoreAllMocks());
const hmac = (body: string, time: number | string, secret = SECRET): string =>
  createHmac('sha256', secret).update(`${time}.${body}`).digest('hex');
const header = (time = now(), body = BODY, secret = SECRET): string =>
  `t=${time},v1=${hmac(body, time, secret)}`;

describe('verifyWebhook', () => {
  it('takes one good signature among others, as when a secret is changed', async () => {
    const time = now();
    const both = `t=${time}, v1=${'0'.repeat(64)}, v1=${hmac(BODY, time)}, v2=x`;
    await expect(verifyWebhook(BODY, both, SECRET)).resolves.toBeDefined();
  });

  it('allows five minutes, either way', async () => {
    for (const seconds of [-300, 300])
      await expect(verifyWebhook(BODY, header(now() + seconds), SECRET)).resolves.toBeDefined();
    for (const seconds of [-301, 301])
      await expect(verifyWebhook(BODY, header(now() + seconds), SECRET)).rejects.toThrow('five minutes');
  });

  const bytes = Buffer.from(SECRET.slice('whsec_'.length), 'base64');
  const standard = (time = now(), body = BODY, id = 'd1', key: Buffer = bytes): Record<string, string> => ({
    'webhook-id': id,
    'webhook-timestamp': String(time),
    'webhook-signature': `v1,${createHmac('sha256', key).update(`${id}.${time}.${body}`).digest('base64')}`,
  });
  const upper = Object.fromEntries(
    Object.entries(standard()).map(([name, value]) => [name.toUpperCase(), value]),
  );
  const { 'webhook-id': _id, ...withoutId } = standard();
  const { 'webhook-timestamp': _time, ...withoutTime } = standard();
  const good = hmac(BODY, now());
  it.each<[string, Parameters<typeof verifyWebhook>[1], string?, string?]>([
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
    ['headers with another body', standard(), `${BODY} `],
    ['headers with another id', { ...standard(), 'webhook-id': 'd2' }],
    ['headers with no id', withoutId],
    ['headers with no time', withoutTime],
    ['headers with another time', { ...standard(), 'webhook-timestamp': String(now() - 5) }],
    ['headers with an old time', standard(now() - 310)],
    ['headers with a time that is no number', { ...standard(NaN), 'webhook-timestamp': 'NaN' }],
    // The header that says more is the one that counts.
    [
      'headers with a bad signature beside one in the other form',
      { ...standard(1), 'savings-signature': header() },
    ],
    ['headers with a secret that is none', standard(now(), BODY, 'd1', Buffer.alloc(0)), BODY, 'whsec_'],
    ['headers with a secret without its beginning', standard(), BODY, SECRET.slice('whsec_'.length)],
    ['an object without headers', {}],
  ])('refuses %s', async (_what, given, body = BODY, secret = SECRET) => {
    const refused = { code: 'webhook_signature', name: 'WebhookSignatureError' };
    await expect(verifyWebhook(body, given, secret)).rejects.toMatchObject(refused);
  });

  it.each<[string, Parameters<typeof verifyWebhook>[1], Parameters<typeof verifyWebhook>[0]?]>([
    ['a text', header()],
    ['bytes', header(), new TextEncoder().encode(BODY)],
    ['a Buffer within another', header(), Buffer.from(`x${BODY}`).subarray(1)],
    ['headers of fetch', new Headers(standard())],
    ['headers of Node.js', { ...standard(), host: 'example.org', 'set-cookie': ['a', 'b'], via: undefined }],
    ['headers in capitals', upper],
    ['headers that came twice', { ...standard(), 'webhook-id': ['d1', 'd2'] }],
    ['headers of Stripe only', { 'Savings-Signature': header() }],
    ['headers of Stripe only, of fetch', new Headers({ 'savings-signature': header() })],
  ])('gives the event of a signed body: %s', async (_what, given, body = BODY) => {
    expect(await verifyWebhook(body, given, SECRET)).toEqual(JSON.parse(BODY));
  });

  it('takes the good one of several signatures, and none of another version', async () => {
    const good = standard()['webhook-signature'];
    const all = `v1,${'A'.repeat(43)}= v1a,x ${good}`;
    const signed = (signature: string): Record<string, string> => ({
      ...standard(),
      'webhook-signature': signature,
    });
    await expect(verifyWebhook(BODY, signed(all), SECRET)).resolves.toBeDefined();
    for (const bad of [good.replace('v1', 'v1a'), good.slice(3), `${good}=`, `${good},x`, 'v1,', ' '])
      await expect(verifyWebhook(BODY, signed(bad), SECRET)).rejects.toThrow('signature');
  });

  it('tells who passes one header of three', async () => {
    const { 'webhook-signature': one } = standard();
    await expect(verifyWebhook(BODY, one, SECRET)).rejects.toThrow('pass them all');
  });
});
