import { Resolver } from 'node:dns/promises';
import net from 'node:net';
import { WebhookClient } from '#features/receivers/webhook-client';
import { useApp } from '../support/app';
import { NameServer } from '../support/network/name-server';
import { Receiver } from '../support/events/receiver';

/** Names that were made to get around the rules of where webhooks may lead. */
const app = useApp();
const receiver = new Receiver();
const LOOPBACK = '7f000001';
const LOOPBACK6 = `${'0'.repeat(31)}1`;
/** 93.184.0.0 and on, all public. */
const crowd = (count: number): string[] =>
  Array.from({ length: count }, (_, n) => `5db8${n.toString(16).padStart(4, '0')}`);
const crowd6 = (count: number): string[] =>
  Array.from({ length: count }, (_, n) => `2606${'0'.repeat(24)}${n.toString(16).padStart(4, '0')}`);
const names = new NameServer({
  'last.example': { a: [...crowd(300), LOOPBACK] },
  'middle.example': { a: [...crowd(150), LOOPBACK, ...crowd(150)] },
  'last6.example': { a: crowd(300), aaaa: [...crowd6(100), LOOPBACK6] },
  'alias.example': { alias: 'second.example' },
  'second.example': { alias: 'third.example' },
  'third.example': { a: [LOOPBACK] },
  'crowded-alias.example': { alias: 'last.example' },
});
let client: WebhookClient;
let resolver: Resolver;

beforeAll(async () => {
  await receiver.start('0.0.0.0');
  await names.start();
  resolver = app.nest.get(Resolver);
  resolver.setServers([names.address]);
  client = app.nest.get(WebhookClient);
});
afterEach(() => jest.restoreAllMocks());
afterAll(async () => {
  names.stop();
  await receiver.stop();
});

const REFUSED = { status: null, error: 'name leads to a private address' };
const post = (name: string): Promise<unknown> => client.post(`http://${name}:${receiver.port}/`, {}, '{}');

it.each(['last', 'middle', 'last6', 'alias', 'crowded-alias'])(
  'one private address among hundreds, or at the end of a chain of names, is found: %s',
  async (name) => {
    for (let attempt = 0; attempt < 2; attempt++) expect(await post(`${name}.example`)).toEqual(REFUSED);
    expect(receiver.connections).toBe(0);
  },
);

it('what a name leads to is asked once for a connection, which goes only to what was checked', async () => {
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
  // Public for the check, private for whoever would ask again.
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
