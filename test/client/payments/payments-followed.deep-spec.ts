import {
  type Payment,
  type PaymentStore,
  type SavingsClient,
  memoryPayments,
  webPayments,
} from '@pooled-savings/client';
import { type Hash, type Hex, parseGwei } from 'viem';
import { connect, devAccount } from '#dev/deploy';
import { TEN, until } from '../../support/app';
import { BrowserWallet, PayingBench, REJECTED, newPool as createPool } from '../../support/browser/paying';

const bench = new PayingBench();
let saver: Awaited<ReturnType<PayingBench['funded']>>;
let store: PaymentStore;
let client: SavingsClient;
let wallet: BrowserWallet;

beforeAll(async () => {
  await bench.begin();
  saver = await bench.funded(5);
  await bench.atHead();
});
afterAll(() => bench.end());
beforeEach(async () => {
  store = memoryPayments();
  client = bench.client({ payments: store });
  wallet = new BrowserWallet([saver]);
  await client.signIn(wallet);
});

/** A page that was loaded anew: the same session and store. */
const reloaded = (): SavingsClient => bench.client({ payments: store, tokens: client.tokens });
const newPool = (): Promise<{ id: string; depositId: string }> => createPool(client);
const [OTHER, CHEAP, DEAR] = [devAccount(7).address, parseGwei('2'), parseGwei('20')];

/** Sends with the nonce of the transaction, for more gas: as "speed up" and "cancel" do. */
async function replace(sent: Hash, change: { to?: Hex; data?: Hex } = {}): Promise<Hash> {
  const { nonce, to, input } = await saver.getTransaction({ hash: sent });
  const call = { to: to!, data: input, ...change };
  const fees = { maxFeePerGas: DEAR * 5n, maxPriorityFeePerGas: DEAR };
  return saver.sendTransaction({ ...call, ...fees, nonce, gas: 500_000n });
}

/** Pays while no blocks come. @returns the payment's end, once its deposit is sent */
async function sendDeposit(
  options: { droppedAfterMs?: number; signal?: AbortSignal; amount?: bigint; onReplaced?: () => void } = {},
): Promise<{ hash: Hash; end: Promise<unknown>; depositId: string; poolId: string; seen: Payment[] }> {
  const { id: poolId, depositId } = await newPool();
  const seen: Payment[] = [];
  let end: Promise<unknown>;
  const hash = await new Promise<Hash>((resolve, reject) => {
    wallet.answers.eth_sendTransaction = async ({ params: [{ to, data }] }) =>
      saver.sendTransaction({
        to,
        data,
        gas: 500_000n,
        maxFeePerGas: CHEAP * 5n,
        maxPriorityFeePerGas: CHEAP,
      });
    const onChange = (payment: Payment): void => void seen.push(payment);
    end = client
      .pay(poolId, {
        transaction: depositId,
        wallet,
        onChange,
        ...options,
        onSent: (_, sent) => resolve(sent),
      })
      .catch((error: unknown) => error);
    void end.then(reject);
  });
  return { hash, end: end!, depositId, poolId, seen };
}

const listed = async (of = client): Promise<readonly Partial<Payment>[]> => of.payments.list();
const shown = (): Promise<void> => until(async () => (await listed())[0].trace?.shown);
const told = (hash: Hash): Promise<void> => until(async () => (await listed())[0].told === hash);

/** Once the block that shows what became of the first payment is final; before, it is refused. */
async function payAgain(poolId: string, transaction: string): Promise<unknown> {
  const pay = (): Promise<unknown> => client.pay(poolId, { transaction, wallet });
  await expect(pay()).rejects.toMatchObject({ code: 'deposit_submitted' });
  await bench.mine(65);
  const isOpen = async (): Promise<boolean> => {
    await bench.sql("UPDATE submissions SET check_at = now() - interval '1 second'");
    return (await client.transactions.byId(transaction)).submitted === null;
  };
  await until(isOpen);
  return pay();
}

it('remembers that the service knows, whatever comes after', async () => {
  const { end } = await bench.held(async () => {
    wallet.answers.eth_getTransactionByHash = () => null;
    const sent = await sendDeposit();
    await told(sent.hash);
    delete wallet.answers.eth_getTransactionByHash;
    await shown();
    await told(sent.hash);
    return sent;
  });
  expect(await end).toMatchObject([{ status: 'success' }]);
});

it('goes on with the transaction that a wallet has sped up, and tells the service', async () => {
  const replaced: unknown[] = [];
  const { end, hash, faster, depositId } = await bench.held(async () => {
    const onReplaced = (...of: unknown[]): void => void replaced.push(of.slice(1));
    const sent = await sendDeposit({ onReplaced });
    await shown();
    return { ...sent, faster: await replace(sent.hash) };
  });
  expect(await end).toMatchObject([{ transactionHash: faster }]);
  expect(replaced).toEqual([[faster, hash]]);
  expect(await client.transactions.confirmed(depositId)).toMatchObject({ txHash: faster });
});

it.each([
  ['cancelled', 'transaction_cancelled', (saver) => ({ to: saver, data: '0x' })],
  ['used for something else', 'transaction_replaced', () => ({ to: OTHER, data: '0x' })],
] as [string, string, (saver: Hex) => { to: Hex; data: Hex }][])(
  'says that it was %s, and the deposit can be paid again',
  async (_, code, change) => {
    const { end, hash, other, depositId, poolId } = await bench.held(async () => {
      const sent = await sendDeposit();
      await shown();
      const known = 'SELECT FROM submissions WHERE hash = $1 AND nonce IS NOT NULL';
      await until(async () => (await bench.sql(known, [sent.hash])).length > 0);
      return { ...sent, other: await replace(sent.hash, change(saver.account.address)) };
    });
    expect(await end).toMatchObject({ code, call: 'deposit', hash, replacement: other });
    expect(await listed()).toMatchObject([{ state: 'failed', failure: { code } }]);
    await payAgain(poolId, depositId);
    expect(await client.transactions.confirmed(depositId)).toMatchObject({ amount: TEN });
  },
);

it('can be paid again after it was reverted', async () => {
  const { id: poolId, depositId } = await newPool();
  wallet.answers.eth_sendTransaction = ({ params: [call] }) => wallet.send({ ...call, gas: '0x11170' });
  const pay = (): Promise<unknown> => client.pay(poolId, { transaction: depositId, wallet });
  await expect(pay()).rejects.toMatchObject({ code: 'transaction_reverted' });
  delete wallet.answers.eth_sendTransaction;
  expect(await payAgain(poolId, depositId)).toHaveLength(1);
  await client.transactions.confirmed(depositId);
  await until(async () => (await listed())[0].state === 'done');
});

it('says that the chain has lost it', async () => {
  const { end, hash } = await bench.held(async () => {
    const sent = await sendDeposit({ droppedAfterMs: 0 });
    await shown();
    await bench.rpc('anvil_dropTransaction', sent.hash);
    await sent.end;
    return sent;
  });
  expect(await end).toMatchObject({ code: 'transaction_dropped', hash });
});

it('needs no node that shows what is pending', async () => {
  wallet.answers.eth_getTransactionByHash = () => null;
  const { end, faster } = await bench.held(async () => {
    const sent = await sendDeposit();
    return { ...sent, faster: await replace(sent.hash) };
  });
  expect(await end).toMatchObject([{ transactionHash: faster }]);
});

it('is not paid twice: not at once, not after a reload, and not on another device', async () => {
  const { depositId, poolId, end, hash } = await bench.held(async () => {
    const sent = await sendDeposit();
    const again = { transaction: sent.depositId, wallet };
    const error = { code: 'deposit_submitted', transactionId: sent.depositId, hash: sent.hash };
    await expect(client.pay(sent.poolId, again)).rejects.toMatchObject(error);
    await expect(reloaded().pay(sent.poolId, again)).rejects.toMatchObject(error);
    await told(sent.hash);
    const device = bench.client({ tokens: client.tokens });
    await expect(device.pay(sent.poolId, again)).rejects.toMatchObject(error);
    return sent;
  });
  await end;
  // Mined, and the indexer may be behind.
  await expect(client.pay(poolId, { transaction: depositId, wallet })).rejects.toMatchObject({
    code: expect.stringMatching(/deposit_submitted|transaction_not_pending/),
  });
  await client.transactions.confirmed(depositId);
  expect(await listed()).toMatchObject([{ hash }]);
  expect(wallet.sent).toBe(1);
});

it('goes on after a reload, without the wallet too', async () => {
  const end = new AbortController();
  const { hash } = await bench.held(async () => {
    const sent = await sendDeposit({ signal: end.signal });
    end.abort(new Error('left'));
    expect(await sent.end).toMatchObject({ message: 'left' });
    return sent;
  });
  const page = reloaded();
  const [{ id, state }] = await listed(page);
  expect(state).toBe('sent');
  expect(await page.payments.resume(id!)).toMatchObject([{ transactionHash: hash, status: 'success' }]);
});

it('is left even if the node answers only then', async () => {
  const end = new AbortController();
  const seen = new Promise<() => void>((resolve) => {
    wallet.answers.eth_getTransactionByHash = async (_, next) => {
      await new Promise<void>((release) => resolve(release));
      return next();
    };
  });
  const { hash, going } = await bench.held(async () => {
    const sent = await sendDeposit({ signal: end.signal });
    const release = await seen;
    end.abort(new Error('left'));
    expect(await sent.end).toMatchObject({ message: 'left' });
    const count = sent.seen.length;
    release();
    const page = reloaded();
    const [{ id }] = await listed(page);
    const resumed = page.payments.resume(id!, { wallet: new BrowserWallet([saver]) });
    await shown();
    expect(sent.seen).toHaveLength(count);
    return { hash: sent.hash, going: { resumed } };
  });
  expect(await going.resumed).toMatchObject([{ transactionHash: hash }]);
});

it('can be cancelled while the wallet is open; what the wallet sends after all goes on', async () => {
  const { id: poolId, depositId } = await newPool();
  let answer = (): void => undefined;
  const opened = new Promise<void>((open) => {
    wallet.answers.eth_sendTransaction = async (_, next) => {
      open();
      await new Promise<void>((resolve) => (answer = resolve));
      return next();
    };
  });
  const paying = client.pay(poolId, { transaction: depositId, wallet }).catch((error: unknown) => error);
  await opened;
  const [{ id }] = await listed();
  expect(await client.payments.cancel(id!)).toBe(true);
  expect(await paying).toMatchObject({ name: 'AbortError' });
  expect(await listed()).toMatchObject([{ state: 'cancelled' }]);
  answer();
  await until(async () => ['mined', 'done'].includes((await listed())[0].state!));
  expect(await client.payments.cancel(id!)).toBe(false);
});

it('is told in the list, with what the person has to change back in the wallet', async () => {
  const lists: Partial<Payment>[] = [];
  const stop = client.payments.subscribe(([payment]) => payment && lists.push(payment));
  await bench.held(async () => {
    const { end } = await sendDeposit();
    const attention = (wanted: unknown): Promise<void> => until(() => lists.at(-1)?.attention === wanted);
    wallet.accounts = [await connect(bench.anvil.url, devAccount(6))];
    await attention('account');
    wallet.accounts = [saver];
    await attention(undefined);
    wallet.chainId = 5;
    await attention('chain');
    await bench.mine(1);
    // By the public node, although the wallet is elsewhere.
    expect(await end).toMatchObject([{ status: 'success' }]);
  });
  stop();
  expect([...new Set(lists.map(({ state }) => state))]).toEqual(
    expect.arrayContaining(['checking', 'wallet', 'sent', 'mined']),
  );
});

it('follows again what a reorganisation has taken back, until the service has seen it', async () => {
  const behind = bench.client({
    payments: store,
    tokens: client.tokens,
    fetch: async (request) => {
      const answer = await fetch(request);
      if (!(request as Request).url.includes('/by-id/')) return answer;
      const body = (await answer.json()) as { data: object };
      return Response.json({ ...body, data: { ...body.data, status: 'PENDING' } });
    },
  });
  const { id: poolId, depositId } = await newPool();
  const snapshot = await bench.rpc('evm_snapshot');
  const [{ transactionHash: hash }] = await behind.pay(poolId, { transaction: depositId, wallet });
  const { to, input, nonce, gas, maxFeePerGas, maxPriorityFeePerGas } = await saver.getTransaction({ hash });
  const state = (wanted: string): Promise<void> => until(async () => (await listed())[0].state === wanted);
  await state('mined');
  await bench.rpc('evm_revert', snapshot);
  await state('sent');
  const same = { to, data: input, nonce, gas, maxFeePerGas, maxPriorityFeePerGas } as const;
  expect(await saver.sendTransaction(same)).toBe(hash);
  await state('mined');
  await behind.payments.confirmed(depositId);
  expect(await listed()).toMatchObject([{ state: 'done', hash }]);
});

it('a refusal in the wallet ends it, and nothing is kept from paying', async () => {
  const { id: poolId, depositId } = await newPool();
  wallet.answers.eth_sendTransaction = () => Promise.reject(REJECTED);
  await expect(client.pay(poolId, { transaction: depositId, wallet })).rejects.toMatchObject({
    cause: { code: 4001 },
  });
  expect(await listed()).toMatchObject([{ state: 'failed', failure: { code: 'wallet' } }]);
  delete wallet.answers.eth_sendTransaction;
  expect(await client.pay(poolId, { transaction: depositId, wallet })).toHaveLength(1);
});

describe('the store of payments', () => {
  const payment = (n: number, state: Payment['state'] = 'done'): Payment => ({
    kind: 'claimYield',
    pool: 'p',
    id: `${n}`,
    state,
    startedAt: n,
  });
  const storage = (): { getItem: () => string | null; setItem: (_: string, text: string) => void } => {
    let kept: string | null = null;
    return { getItem: () => kept, setItem: (_, text) => void (kept = text) };
  };

  it.each([
    ['memory', () => memoryPayments()],
    ['web', () => webPayments(storage())],
  ])('of %s is bounded, and keeps what is under way', async (_, create) => {
    const payments = create();
    await payments.put(payment(0, 'sent'));
    for (let n = 1; n < 200; n++) await payments.put(payment(n));
    const list = await payments.list();
    expect([list.length, list[0].id, list.at(-1)?.id]).toEqual([50, '199', '0']);
    await payments.remove('0');
    expect((await payments.list()).some(({ id }) => id === '0')).toBe(false);
  });

  it('bears what others have written into the storage', async () => {
    for (const text of ['{', '{}', 'null', '[1, null, {"id": 5}]'])
      expect(await webPayments({ getItem: () => text, setItem: () => undefined }).list()).toEqual([]);
  });

  it.each([
    ['changes', 2, memoryPayments],
    [
      'is full',
      1,
      (): PaymentStore => ({ ...memoryPayments(), put: () => Promise.reject(new Error('full')) }),
    ],
  ])(
    'that %s calls back for what is new alone: a page that answers comes to rest',
    async (_, most, create) => {
      const account = saver.account.address;
      const mined = {
        ...payment(1, 'mined'),
        kind: 'deposit',
        pool: 'p',
        transaction: 't',
        account,
      } as Payment;
      const stored = create();
      const list = async (): Promise<Payment[]> => [{ ...mined, ...(await stored.list())[0] }];
      const payments = { ...stored, list };
      const page = bench.client({ tokens: client.tokens, payments }).payments;
      let calls = 0;
      await new Promise<void>((resolve) => {
        const answer = (): void =>
          void (++calls < 9 && page.confirmed('t').then(() => setImmediate(resolve)));
        page.subscribe(answer);
      });
      expect(calls).toBe(most);
    },
  );

  it('that fails does not make a payment fail', async () => {
    const full = { list: () => [], put: () => Promise.reject(new Error('full')), remove: () => undefined };
    const { id } = await newPool();
    const payer = bench.client({ tokens: client.tokens, payments: full });
    expect(await payer.pay(id, { amount: 1n, wallet })).toHaveLength(1);
  });
});
