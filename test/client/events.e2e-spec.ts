import { SavingsClient, memoryTokens } from '@pooled-savings/client';
import { hexToString } from 'viem';
import { OutboxPoller } from '#ledger/outbox/outbox-poller';
import { type SignedIn, jwt, until, useApp } from '../support/app';
import { holdSweeps } from '../support/events/event-source';
import { addTransaction } from '../support/ledger';
import { readable } from '../support/events/outbox';
import { newWallet } from '../support/wallet';

const app = useApp();
let owner: SignedIn;
let pool: string;

beforeAll(async () => {
  await app.listen();
  owner = await app.signIn();
  ({ id: pool } = (await app.createPool(owner)) as { id: string });
  // A stream begins after what can be read when it opens.
  await readable(app);
});
beforeEach(() => holdSweeps());
afterEach(() => jest.restoreAllMocks());

it('gives what happens, as the service sends it, of the topics that were asked for, until the loop is left', async () => {
  const { tasks } = app.nest.get(OutboxPoller, { strict: false });
  const others = tasks.size;
  const paid = { poolId: pool, account: owner.address };
  let deposit: Promise<{ id: string }> | undefined;
  const onConnected = (): void => {
    deposit = addTransaction(app, { ...paid, type: 'WITHDRAWAL', amount: '1' }).then(() =>
      addTransaction(app, paid),
    );
  };
  const baseUrl = `http://127.0.0.1:${app.port}`;
  const client = new SavingsClient({ baseUrl, tokens: memoryTokens(owner.token) });
  for await (const event of client.events({ topics: ['deposit.confirmed', 'draw.opened'], onConnected })) {
    if (event.topic !== 'deposit.confirmed') throw new Error(event.topic);
    expect(event).toEqual({
      id: event.id,
      topic: 'deposit.confirmed',
      occurredAt: event.occurredAt,
      poolId: pool,
      transactionId: (await deposit)!.id,
      transactionType: 'DEPOSIT',
      txHash: event.txHash,
      blockNumber: event.blockNumber,
      logIndex: event.logIndex,
      final: false,
      account: owner.address,
      amount: '1000',
    });
    expect(tasks.size).toBeGreaterThan(others);
    break;
  }
  // Its connection is free.
  await until(() => tasks.size === others);
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
