import { Resolver } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';
import { WebhookClient } from '#features/receivers/webhook-client';
import { problemOf, targetOf } from '#features/receivers/webhook-target';
import { defaultEnvironment } from '#settings/environment';
import { useApp } from '../support/app';
import { NameServer } from '../support/network/name-server';
import { Receiver } from '../support/events/receiver';

const app = useApp();
const receiver = new Receiver();
/** A public address, and what no receiver may be at. */
const PUBLIC = '5db8d822';
const names = new NameServer({
  'loopback.example': { a: ['7f000001'] },
  'metadata.example': { a: ['a9fea9fe'] },
  'loopback6.example': { aaaa: [`${'0'.repeat(31)}1`] },
  'mapped.example': { aaaa: [`${'0'.repeat(20)}ffff7f000001`] },
  'nat64.example': { aaaa: [`0064ff9b${'0'.repeat(16)}7f000001`] },
  'both.example': { a: [PUBLIC, '7f000001'] },
  'mixed.example': { a: [PUBLIC], aaaa: [`fd${'0'.repeat(29)}1`] },
});
let client: WebhookClient;

beforeAll(async () => {
  await receiver.start('0.0.0.0');
  await names.start();
  app.nest.get(Resolver).setServers([names.address]);
  client = app.nest.get(WebhookClient);
});
afterAll(async () => {
  names.stop();
  await receiver.stop();
});

const own = Object.values(networkInterfaces())
  .flatMap((each) => each ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;

it.each([
  '127.0.0.1',
  '127.1',
  '2130706433',
  '0x7f.1',
  '0177.0.0.1',
  '0.0.0.0',
  '[::1]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '169.254.169.254',
  '１２７.0.0.1',
  ...(own ? [own] : []),
])('an address that is not public is refused, and never connected to: %s', async (host) => {
  const user = await app.signIn();
  const url = `http://${host}:${receiver.port}/`;
  const { status, body } = await app.post('/webhooks', { url }, user);
  expect([status, body.details]).toEqual([
    400,
    [{ field: 'url', message: 'must not lead to a private address' }],
  ]);
  // One that came into the table by another way.
  expect(await client.post(url, {}, '{}')).toEqual({
    status: null,
    error: 'address must not lead to a private address',
  });
  expect(receiver.connections).toBe(0);
});

it.each(['loopback', 'metadata', 'loopback6', 'mapped', 'nat64', 'both', 'mixed'])(
  'a name that leads to one is refused when it is resolved, at each connection: %s',
  async (name) => {
    const url = `http://${name}.example:${receiver.port}/`;
    const user = await app.signIn();
    expect((await app.post('/webhooks', { url }, user)).status).toBe(201);
    for (let attempt = 1; attempt <= 2; attempt++) {
      names.asked.length = 0;
      expect(await client.post(url, {}, '{}')).toEqual({
        status: null,
        error: 'name leads to a private address',
      });
      expect(new Set(names.asked)).toEqual(new Set([`A ${name}.example`, `AAAA ${name}.example`]));
    }
    expect(receiver.connections).toBe(0);
  },
);

it('names of the hosts file are no way either, nor are unknown ones', async () => {
  for (const host of ['localhost', 'localhost.', 'unknown.example'])
    expect(await client.post(`http://${host}:${receiver.port}/`, {}, '{}')).toEqual({
      status: null,
      error: 'name not resolved',
    });
  expect(receiver.connections).toBe(0);
});

it('a name server that does not answer is waited for no longer than a receiver', async () => {
  app.nest.get(Resolver).setServers(['127.0.0.1:1']);
  const began = performance.now();
  expect((await client.post('http://slow.example/', {}, '{}')).status).toBeNull();
  expect(performance.now() - began).toBeLessThan(9000);
  app.nest.get(Resolver).setServers([names.address]);
});

it('in production only https will do', () => {
  const environment = Object.assign(defaultEnvironment(), { NODE_ENV: 'production' });
  expect(problemOf('http://example.org/', environment)).toBe('must be an https URL');
  expect(problemOf('https://example.org/', environment)).toBeUndefined();
  expect(problemOf('https://10.0.0.1/', environment)).toBe('must not lead to a private address');
});

describe('a URL that a user names', () => {
  const production = Object.assign(defaultEnvironment(), { NODE_ENV: 'production' });

  it.each([
    ['https://example.org', 'https://example.org/', 'example.org'],
    ['https://Example.ORG:443/Path?a=B', 'https://example.org/Path?a=B', 'example.org'],
    ['https://example.org/#part', 'https://example.org/', 'example.org'],
    ['https://example.org./', 'https://example.org./', 'example.org'],
    ['https:example.org', 'https://example.org/', 'example.org'],
    ['https:\\\\example.org\\@evil.example', 'https://example.org/@evil.example', 'example.org'],
    ['https://exam\tple.org\n/', 'https://example.org/', 'example.org'],
    ['https://ex%61mple.org/', 'https://example.org/', 'example.org'],
    ['https://MÜNCHEN.example/ä', 'https://xn--mnchen-3ya.example/%C3%A4', 'xn--mnchen-3ya.example'],
    ['https://ｅｘａｍｐｌｅ。org/', 'https://example.org/', 'example.org'],
    ['https://exa\u00admple.org/', 'https://example.org/', 'example.org'],
    ['https://８.8.8.8/', 'https://8.8.8.8/', '8.8.8.8'],
    ['https://8.8.8.8./', 'https://8.8.8.8/', '8.8.8.8'],
    ['https://[2606:4700:0::1111]/', 'https://[2606:4700::1111]/', '2606:4700::1111'],
  ])('has one form: %j', (text, url, host) => {
    expect(targetOf(text, production)).toEqual({ url, host });
    // Which it keeps.
    expect(targetOf(url, production)).toEqual({ url, host });
  });

  it.each([
    ['https://example.org:8443/', 'must be at port 443'],
    ['https://example.org:80/', 'must be at port 443'],
    ['https://[2606:4700::1111]:444/', 'must be at port 443'],
    ['http://example.org:443/', 'must be an https URL'],
    ['https://user@example.org/', 'must not contain user name or password'],
    ['https://:password@example.org/', 'must not contain user name or password'],
    ['https://example.org@127.0.0.1/', 'must not contain user name or password'],
    ['https://127.0.0.1./', 'must not lead to a private address'],
    ['https://[::ffff:8.8.8.8]/', 'must not lead to a private address'],
    ['https://./', 'must name a host'],
    ['https://example.org../', 'must name a host'],
    ['https://.example.org/', 'must name a host'],
    ['https://exa mple.org/', 'must be an absolute URL'],
    ['https://example.org:65536/', 'must be an absolute URL'],
    ['//example.org/', 'must be an absolute URL'],
    [`https://example.org/${'ä'.repeat(400)}`, 'must not be longer than 2048 characters when encoded'],
  ])('is refused in production: %j', (text, problem) => expect(targetOf(text, production)).toBe(problem));

  it('may have any port elsewhere', () => {
    const environment = Object.assign(defaultEnvironment(), { NODE_ENV: 'development' });
    expect(targetOf('http://example.org:8080', environment)).toEqual({
      url: 'http://example.org:8080/',
      host: 'example.org',
    });
  });

  it('that was stored in another form is still sent to', () => {
    for (const url of ['https://EXAMPLE.org:8443#part', 'https://example.org..'])
      expect(problemOf(url, production)).toBeUndefined();
  });
});
