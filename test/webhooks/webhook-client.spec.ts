import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Resolver } from 'node:dns/promises';
import type { ServerResponse } from 'node:http';
import https from 'node:https';
import net from 'node:net';
import type { AddressInfo } from 'node:net';
import { WebhookClient } from '#extensions/webhooks/webhook-client';
import { WebhooksSettings } from '#extensions/webhooks/webhooks.settings';
import { until } from '../support/app';
import { makeCertificate } from '../support/network/certificates';
import { NameServer } from './name-server';
import { Receiver } from '../support/events/receiver';

const LOOPBACK = '7f000001';
const LOOPBACK6 = `${'0'.repeat(31)}1`;
/** 93.184.0.0 and on, all public. */
const crowd = (count: number): string[] =>
  Array.from({ length: count }, (_, n) => `5db8${n.toString(16).padStart(4, '0')}`);
const crowd6 = (count: number): string[] =>
  Array.from({ length: count }, (_, n) => `2606${'0'.repeat(24)}${n.toString(16).padStart(4, '0')}`);
const names = new NameServer({
  'loopback.example': { a: [LOOPBACK] },
  'metadata.example': { a: ['a9fea9fe'] },
  'loopback6.example': { aaaa: [LOOPBACK6] },
  'mapped.example': { aaaa: [`${'0'.repeat(20)}ffff7f000001`] },
  'nat64.example': { aaaa: [`0064ff9b${'0'.repeat(16)}7f000001`] },
  'both.example': { a: [...crowd(1), LOOPBACK] },
  'mixed.example': { a: crowd(1), aaaa: [`fd${'0'.repeat(29)}1`] },
  'last.example': { a: [...crowd(300), LOOPBACK] },
  'middle.example': { a: [...crowd(150), LOOPBACK, ...crowd(150)] },
  'last6.example': { a: crowd(300), aaaa: [...crowd6(100), LOOPBACK6] },
  'alias.example': { alias: 'second.example' },
  'second.example': { alias: 'third.example' },
  'third.example': { a: [LOOPBACK] },
  'crowded-alias.example': { alias: 'last.example' },
  'silent.example': 'silent',
});
const resolver = new Resolver({ timeout: 60_000 });
const environment = new WebhooksSettings();
/** Sends to the public internet only. */
const client = new WebhookClient(environment, resolver);
/** As for development: sends to this machine too. */
const open = new WebhookClient({ ...environment, WEBHOOK_ALLOW_PRIVATE: true }, resolver);
let receiver: Receiver;
const send = (url = receiver.url, ...more: [AbortSignal?, string?]) =>
  open.post({ url, headers: {}, body: '{}' }, ...more);

beforeAll(async () => {
  await names.start();
  resolver.setServers([names.address]);
});
beforeEach(async () => {
  receiver = await new Receiver().start();
});
afterEach(async () => {
  jest.restoreAllMocks();
  await receiver.stop();
});
afterAll(() => {
  resolver.cancel();
  names.stop();
});

describe('a receiver', () => {
  it.each<[string, (response: ServerResponse) => unknown, object]>([
    ['takes it', (response) => response.writeHead(204).end(), { status: 204, error: null }],
    ['fails', (response) => response.writeHead(500).end(), { status: 500, error: 'status 500' }],
    [
      'upgrades the connection',
      (response) => response.writeHead(101, { connection: 'upgrade', upgrade: 'other' }).end(),
      { status: null, error: 'connection closed' },
    ],
    ['closes the connection', (response) => response.destroy(), { status: null, error: 'ECONNRESET' }],
    ...[429, 503, 500].map((status): [string, (response: ServerResponse) => unknown, object] => [
      `wants to be left alone, with ${status}`,
      (response) => response.writeHead(status, { 'retry-after': '120' }).end(),
      { status, error: `status ${status}`, retryAfter: status === 500 ? undefined : 120 },
    ]),
  ])('that %s', async (_, answer, outcome) => {
    receiver.answer = answer;
    expect(await send()).toEqual({
      retryAfter: undefined,
      ...outcome,
    });
  });

  it.each([301, 302, 307, 308])('that redirects is not followed: %i', async (status) => {
    const elsewhere = await new Receiver().start();
    receiver.answer = (response) => response.writeHead(status, { location: elsewhere.url }).end();
    const error = 'redirects are not followed';
    expect(await send()).toMatchObject({ status, error });
    expect(elsewhere.connections).toBe(0);
    await elsewhere.stop();
  });

  it('is found at one of the addresses of its name, also where Node tries only the first by default', async () => {
    const isDefault = net.getDefaultAutoSelectFamily();
    net.setDefaultAutoSelectFamily(false);
    const outcome = await send(`http://localhost:${receiver.port}/`);
    net.setDefaultAutoSelectFamily(isDefault);
    expect(outcome).toMatchObject({ status: 204, error: null });
  });

  it('that is not there refuses the connection', async () => {
    const closed = await new Receiver().start();
    const { url } = closed;
    await closed.stop();
    expect(await send(url)).toEqual({
      status: null,
      error: 'ECONNREFUSED',
    });
  });

  it('that answers without end has taken it, and is read no further', async () => {
    let isCut = false;
    receiver.answer = (response) => {
      response.writeHead(200).on('close', () => (isCut = true));
      const write = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      };
      response.on('drain', write);
      write();
    };
    expect(await send()).toMatchObject({
      status: 200,
      error: null,
    });
    await until(() => isCut);
  });

  it.each([200, 410, 429])(
    'that answers %i counts, whatever becomes of the rest of its answer',
    async (status) => {
      const error = status === 200 ? null : `status ${status}`;
      const outcome = { status, error, retryAfter: status === 429 ? 120 : undefined };
      const begin = (response: ServerResponse, then?: () => unknown): unknown =>
        response.writeHead(status, { 'content-length': 10, 'retry-after': '120' }).write('x', then);
      receiver.answer = (response) => begin(response, () => response.destroy());
      expect(await send()).toMatchObject(outcome);

      const limit = new AbortController();
      jest.spyOn(AbortSignal, 'timeout').mockReturnValue(limit.signal);
      const cut = (): void => void setImmediate(() => limit.abort(new DOMException('', 'TimeoutError')));
      subscribe('http.client.response.finish', cut);
      receiver.answer = (response) => begin(response);
      expect(await send()).toMatchObject(outcome);
      unsubscribe('http.client.response.finish', cut);
    },
  );

  const silent = ['receiver', 'name server'] as const;
  it.each(
    silent.flatMap((who) => [[who, 'eight seconds'] as const, [who, 'the stop of the process'] as const]),
  )('is waited for until %2$s, if its %1$s does not answer', async (who, end) => {
    const [limit, stop] = [new AbortController(), new AbortController()];
    const limits = jest.spyOn(AbortSignal, 'timeout').mockReturnValue(limit.signal);
    receiver.hold();
    names.asked.length = 0;
    const posting =
      who === 'receiver'
        ? send(receiver.url, stop.signal)
        : client.post({ url: 'http://silent.example/', headers: {}, body: '{}' }, stop.signal);
    await until(() => (who === 'receiver' ? receiver.received : names.asked).length > 0);
    (end === 'eight seconds' ? limit : stop).abort(new DOMException('', 'TimeoutError'));
    expect(await posting).toMatchObject({ status: null, error: 'no answer in time' });
    expect(limits.mock.calls).toEqual([[8000]]);
  });
});

describe('a challenge', () => {
  it.each<[string, (response: ServerResponse) => unknown, string | null]>([
    ['the challenge', (response) => response.end('abc'), null],
    ['nothing', (response) => response.writeHead(204).end(), 'the challenge was not answered'],
    [
      'the challenge and more than is read',
      (response) => response.end(`abc${' '.repeat(2000)}x`),
      'the challenge was not answered',
    ],
    ['the challenge, with another status', (response) => response.writeHead(500).end('abc'), 'status 500'],
    [
      'a redirect to where it is answered',
      (response) => response.writeHead(307, { location: `${receiver.url}2` }).end(),
      'redirects are not followed',
    ],
  ])('that is answered by %s', async (_, answer, error) => {
    receiver.answer = answer;
    expect(await send(receiver.url, undefined, 'abc')).toMatchObject({ error });
    expect(receiver.received).toHaveLength(1);
  });
});

describe('a private address', () => {
  const REFUSED = { status: null, error: 'name leads to a private address' };
  const post = (host: string): Promise<unknown> =>
    client.post({ url: `http://${host}:${receiver.port}/`, headers: {}, body: '{}' });

  it('is refused, also where it came into the table by another way', async () => {
    expect(await post('127.0.0.1')).toEqual({
      status: null,
      error: 'address must not lead to a private address',
    });
    expect(receiver.connections).toBe(0);
  });

  const leading = ['loopback', 'metadata', 'loopback6', 'mapped', 'nat64', 'both', 'mixed'];
  const crowded = ['last', 'middle', 'last6', 'alias', 'crowded-alias'];
  it.each([...leading, ...crowded])(
    'is found at each connection where a name leads to one, even among hundreds: %s',
    async (name) => {
      for (let attempt = 0; attempt < 2; attempt++) {
        names.asked.length = 0;
        expect(await post(`${name}.example`)).toEqual(REFUSED);
        expect(new Set(names.asked)).toEqual(new Set([`A ${name}.example`, `AAAA ${name}.example`]));
      }
      expect(receiver.connections).toBe(0);
    },
  );

  it.each(['localhost', 'localhost.', 'unknown.example'])(
    'is not reached by names that no name server knows: %s',
    async (host) => {
      expect(await post(host)).toEqual({ ...REFUSED, error: 'name not resolved' });
      expect(receiver.connections).toBe(0);
    },
  );

  it('is not reached by a name that turns: it is asked once for a connection, which goes to what was checked', async () => {
    const connected: string[] = [];
    jest.spyOn(net.Socket.prototype, 'connect').mockImplementation(function (this: net.Socket, ...given) {
      const [{ host, lookup }] = given[0] as unknown as [{ host: string; lookup: net.LookupFunction }];
      lookup(host, { all: true }, (error, addresses) => {
        if (!error)
          for (const { address } of addresses as unknown as { address: string }[]) connected.push(address);
        this.destroy(error ?? new Error('not in this test'));
      });
      return this;
    });
    let asked = 0;
    // Public for the check, private for a second look-up.
    jest
      .spyOn(resolver, 'resolve4')
      .mockImplementation(() => Promise.resolve(asked++ % 2 === 0 ? ['93.184.216.34'] : ['127.0.0.1']));
    jest.spyOn(resolver, 'resolve6').mockRejectedValue(new Error('none'));
    for (let attempt = 1; attempt <= 4; attempt++) {
      const outcome = await post('turning.example');
      expect(asked).toBe(attempt);
      if (attempt % 2 === 0) expect(outcome).toEqual(REFUSED);
    }
    expect(connected).toEqual(['93.184.216.34', '93.184.216.34']);
  });
});

describe('https', () => {
  const HOUR_MS = 3_600_000;
  const hours = (from: number, to: number): { from: Date; to: Date } => ({
    from: new Date(Date.now() + from * HOUR_MS),
    to: new Date(Date.now() + to * HOUR_MS),
  });
  const authority = makeCertificate({ name: 'An authority that is trusted' });
  const stranger = makeCertificate({ name: 'Another one' });
  const good = { name: 'localhost', issuer: authority };
  const refused = (error: string): object => ({ status: null, error });

  it.each([
    ['is good', good, 'localhost', true, { status: 204, error: null }],
    [
      'is of an authority that this process does not trust',
      good,
      'localhost',
      false,
      refused('UNABLE_TO_VERIFY_LEAF_SIGNATURE'),
    ],
    [
      'is of another authority',
      { ...good, issuer: stranger },
      'localhost',
      true,
      refused('UNABLE_TO_VERIFY_LEAF_SIGNATURE'),
    ],
    ['signs itself', { name: 'localhost' }, 'localhost', true, refused('DEPTH_ZERO_SELF_SIGNED_CERT')],
    [
      'is of another name',
      { ...good, name: 'elsewhere.example' },
      'localhost',
      true,
      refused('ERR_TLS_CERT_ALTNAME_INVALID'),
    ],
    ['is of a name, not of its address', good, '127.0.0.1', true, refused('ERR_TLS_CERT_ALTNAME_INVALID')],
    ['has expired', { ...good, ...hours(-2, -1) }, 'localhost', true, refused('CERT_HAS_EXPIRED')],
    ['is not valid yet', { ...good, ...hours(1, 2) }, 'localhost', true, refused('CERT_NOT_YET_VALID')],
  ])('sends where the certificate is good: one that %s', async (_, fields, host, isTrusted, outcome) => {
    const { request } = https;
    // As in a process that has NODE_EXTRA_CA_CERTS.
    if (isTrusted)
      jest
        .spyOn(https, 'request')
        .mockImplementation(((url: URL, options: object) =>
          request(url, { ...options, ca: authority.cert })) as never);
    const { cert, key } = makeCertificate(fields);
    let received = 0;
    const server = https.createServer({ cert, key }, (asked, response) => {
      received++;
      asked.resume().on('end', () => response.writeHead(204).end());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    expect(await send(`https://${host}:${port}/`)).toMatchObject(outcome);
    expect(received).toBe('status' in outcome && outcome.status === 204 ? 1 : 0);
    server.close();
  });
});
