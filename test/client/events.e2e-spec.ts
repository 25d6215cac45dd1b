import { type EventsOptions, SavingsClient, type SavingsEvent, memoryTokens } from '@pooled-savings/client';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { hexToString } from 'viem';
import { OutboxPoller } from '#ledger/outbox/outbox-poller';
import { RETRY_MS } from '#extensions/events/event-stream';
import { createApp } from '#api/app.setup';
import { drain } from '#api/shutdown';
import { freePort } from '#dev/ports';
import { type SignedIn, jwt, settings, until, useApp } from '../support/app';
import { holdSweeps } from '../support/events/event-source';
import { addTransaction } from '../support/ledger';
import { readable } from '../support/events/outbox';
import { newWallet } from '../support/wallet';

const app = useApp();
let owner: SignedIn;
let pool: string;
const open: Follower[] = [];

/** Listeners of the outbox that are no stream. */
let others: number;

beforeAll(async () => {
  await app.listen();
  owner = await app.signIn();
  ({ id: pool } = (await app.createPool(owner)) as { id: string });
  // A stream begins after what can be read when it opens.
  await readable(app);
  others = app.nest.get(OutboxPoller, { strict: false }).tasks.size;
});
beforeEach(() => {
  holdSweeps();
  // Clients that lose their stream come back at once.
  jest.replaceProperty(RETRY_MS, 'least', 0);
  jest.replaceProperty(RETRY_MS, 'most', 0);
});
afterEach(async () => {
  jest.restoreAllMocks();
  for (const follower of open.splice(0)) await follower.stop();
  await until(() => app.nest.get(OutboxPoller, { strict: false }).tasks.size === others);
});

const pay = async (): Promise<string> =>
  (await addTransaction(app, { poolId: pool, account: owner.address })).id;

/** Runs a client's loop over events and keeps what it sees. */
class Follower {
  readonly events: SavingsEvent[] = [];
  readonly lost: unknown[] = [];
  connections = 0;
  /** Of the requests for the stream. */
  readonly asked: (string | null)[] = [];
  failure: unknown;
  private readonly end = new AbortController();
  private readonly loop: Promise<void>;
  readonly client: SavingsClient;

  constructor(token: string, options: EventsOptions = {}, port = app.port!) {
    this.client = new SavingsClient({
      baseUrl: `http://127.0.0.1:${port}`,
      tokens: memoryTokens(token),
      fetch: (input, init) => {
        this.asked.push((input as Request).headers.get('last-event-id'));
        return fetch(input, init);
      },
    });
    this.loop = this.follow(options).catch((error: unknown) => void (this.failure = error));
    open.push(this);
  }

  private async follow(options: EventsOptions): Promise<void> {
    const events = this.client.events({
      signal: this.end.signal,
      onConnected: () => this.connections++,
      onDisconnected: (error) => this.lost.push(error),
      ...options,
    });
    for await (const event of events) this.events.push(event);
  }

  get ids(): unknown[] {
    return this.events.map((event) => ('transactionId' in event ? event.transactionId : event.topic));
  }

  async stop(): Promise<void> {
    this.end.abort();
    await this.loop;
  }
}

async function connected(options?: EventsOptions, port?: number): Promise<Follower> {
  const follower = new Follower(owner.token, options, port);
  await until(() => follower.connections === 1);
  return follower;
}

async function replica(port: number): Promise<NestFastifyApplication> {
  const started = await createApp(settings(app.database.url));
  await started.listen(port, '127.0.0.1');
  return started;
}

it('gives what happens, as the service sends it, of the topics that were asked for', async () => {
  const follower = await connected({ topics: ['deposit.confirmed', 'draw.opened'] });
  await addTransaction(app, { poolId: pool, account: owner.address, type: 'WITHDRAWAL', amount: '1' });
  const id = await pay();
  await until(() => follower.events.length === 1);
  const [event] = follower.events;
  if (event.topic !== 'deposit.confirmed') throw new Error(event.topic);
  expect(event).toEqual({
    id: event.id,
    topic: 'deposit.confirmed',
    occurredAt: event.occurredAt,
    poolId: pool,
    transactionId: id,
    transactionType: 'DEPOSIT',
    txHash: event.txHash,
    blockNumber: event.blockNumber,
    logIndex: event.logIndex,
    final: false,
    account: owner.address,
    amount: '1000',
  });
});

it.each([
  ['events', true],
  ['no event', false],
])('goes on without a gap after %s, when the server has ended the stream', async (_what, hadEvents) => {
  // A port that the system does not give to others in the meantime.
  const port = await freePort();
  const first = await replica(port);
  const follower = await connected({}, port);
  const wanted: string[] = [];
  if (hadEvents) wanted.push(await pay());
  await until(() => follower.events.length === wanted.length);
  // The stream's beginning names a place even if nothing has happened since.
  await drain(first, 0);
  await until(() => follower.lost.length > 0);
  wanted.push(await pay(), await pay());
  const second = await replica(port);
  try {
    await until(() => follower.events.length >= wanted.length);
    wanted.push(await pay());
    await until(() => follower.events.length >= wanted.length);
    expect(follower.ids).toEqual(wanted);
    expect([follower.connections, follower.asked[0]]).toEqual([2, null]);
    expect(follower.asked.at(-1)).toMatch(/^[0-9a-f]{12}-/);
  } finally {
    await follower.stop();
    await drain(second, 0);
  }
});

it('throws when the wallet refuses to sign in again, and does not ask it once more', async () => {
  const wallet = newWallet();
  let asked = 0;
  const request = async ({ method, params }: { method: string; params?: any }): Promise<unknown> => {
    if (method === 'eth_requestAccounts' || method === 'eth_accounts') return [wallet.address];
    if (method === 'eth_chainId') return '0x1';
    if (++asked > 1) throw Object.assign(new Error('Rejected.'), { code: 4001 });
    return wallet.signMessage({ message: hexToString(params[0] as `0x${string}`) });
  };
  const client = new SavingsClient({ baseUrl: `http://127.0.0.1:${app.port}` });
  const { id, address } = await client.signIn({ request: request as never }, { renew: true });
  const iat = Math.floor(Date.now() / 1000) - 1000;
  await client.tokens.set(jwt({ userId: id, address, iat, exp: iat + 1 }));
  await expect(client.events().next()).rejects.toMatchObject({ name: 'UserRejectedRequestError' });
  expect(asked).toBe(2);
});

it('frees its connection by leaving the loop', async () => {
  const poller = app.nest.get(OutboxPoller, { strict: false });
  const baseUrl = `http://127.0.0.1:${app.port}`;
  const client = new SavingsClient({ baseUrl, tokens: memoryTokens(owner.token) });
  const onConnected = (): void => void pay();
  for await (const { id } of client.events({ onConnected })) if (id) break;
  await until(() => poller.tasks.size === others);
});
