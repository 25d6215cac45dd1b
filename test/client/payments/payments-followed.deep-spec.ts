import {
  type Payment,
  type PaymentStore,
  type SavingsClient,
  isSent,
  memoryPayments,
  webPayments,
} from '@pooled-savings/client';
import { type Hash, type Hex, numberToHex, parseGwei } from 'viem';
import { connect, devAccount, receiptOf } from '#dev/deploy';
import { TEN, until } from '../../support/app';
import { BrowserWallet, PayingBench, REJECTED, newPool as createPool } from '../../support/browser/paying';
import { TestBrowser } from '../../support/browser/tabs';

const bench = new PayingBench();
let saver: Awaited<ReturnType<PayingBench['funded']>>;
let listeners: Set<() => void>;
let store: ReturnType<typeof memoryPayments>;
let client: SavingsClient;
let wallet: BrowserWallet;

beforeAll(async () => {
  saver = await bench.begin();
});
afterAll(() => bench.end());
beforeEach(async () => {
  store = memoryPayments();
  listeners = new Set();
  client = bench.client({ payments: store });
  wallet = new BrowserWallet([saver]);
  await client.signIn(wallet);
});

const newPool = (): Promise<{ id: string; depositId: string }> => createPool(client);
const SIGN = 'eth_signTypedData_v4';
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

const storage = (): { getItem: () => string | null; setItem: (_: string, text: string) => void } => {
  let kept: string | null = null;
  return { getItem: () => kept, setItem: (_, text) => void (kept = text) };
};
/** Another tab, or a reloaded page: the same session and store. */
const elsewhere = (payments = store): SavingsClient => bench.client({ payments, tokens: client.tokens });
const failed = (error: unknown): unknown => error;
const kept = async (): Promise<Payment> => (await client.payments.list())[0];
const isSubmitted = { code: 'deposit_submitted' };

/** Has the wallet's window stay open. `opened` resolves when it is, `answer` has the person confirm. */
function open(method = 'eth_sendTransaction', of = wallet): { opened: Promise<void>; answer: () => void } {
  let answer = (): void => undefined;
  const confirmed = new Promise<void>((resolve) => (answer = resolve));
  const opened = new Promise<void>((resolve) => {
    of.answers[method] = async (_, next) => {
      resolve();
      await confirmed;
      return next();
    };
  });
  return { opened, answer };
}

/** Leaves a page whose wallet has sent the deposit, and did not say so. No blocks come. */
async function leftUnheard(): Promise<{ poolId: string; depositId: string; hash: Hash }> {
  const { id: poolId, depositId } = await newPool();
  const asked = new Promise<Hash>((resolve) => {
    wallet.answers.eth_sendTransaction = async (_, next) => {
      resolve((await next()) as Hash);
      return new Promise(() => undefined);
    };
  });
  const end = new AbortController();
  const left = client.pay(poolId, { transaction: depositId, wallet, signal: end.signal });
  const hash = await asked;
  end.abort(new Error('left'));
  await expect(left).rejects.toThrow('left');
  return { poolId, depositId, hash };
}

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
  'says that it was %s, to the service too, and the deposit can be paid again',
  async (_, code, change) => {
    const takenBack: string[] = [];
    client = bench.client({
      payments: store,
      tokens: client.tokens,
      fetch: (request) => {
        const { method, url } = request as Request;
        if (method === 'DELETE') takenBack.push(new URL(url).search);
        return fetch(request);
      },
    });
    const { end, hash, other, depositId, poolId } = await bench.held(async () => {
      const sent = await sendDeposit();
      await shown();
      const known = 'SELECT FROM submissions WHERE hash = $1 AND nonce IS NOT NULL';
      await until(async () => (await bench.sql(known, [sent.hash])).length > 0);
      return { ...sent, other: await replace(sent.hash, change(saver.account.address)) };
    });
    expect(await end).toMatchObject({ code, call: 'deposit', hash, replacement: other });
    expect(await listed()).toMatchObject([{ state: 'failed', failure: { code } }]);
    await until(() => takenBack.includes(`?hash=${hash}`));
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
    await expect(elsewhere().pay(sent.poolId, again)).rejects.toMatchObject(error);
    await until(async () => (await client.transactions.byId(sent.depositId)).submitted?.hash === sent.hash);
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
  const page = elsewhere();
  const [{ id, state }] = await listed(page);
  expect(state).toBe('sent');
  expect(await page.payments.resume(id!)).toMatchObject([{ transactionHash: hash, status: 'success' }]);
});

it('is reported after a reload if the service does not know of it', async () => {
  const end = new AbortController();
  const submitted = async (id: string): Promise<unknown> =>
    (await elsewhere().transactions.byId(id)).submitted?.hash;
  const loses: typeof fetch = async (input) =>
    (input as Request).url.endsWith('/sent')
      ? Response.json({ success: false, error: 'Not found', code: 'not_found' }, { status: 404 })
      : fetch(input);
  client = bench.client({ payments: store, tokens: client.tokens, fetch: loses });
  await bench.held(async () => {
    const { depositId, hash, end: left } = await sendDeposit({ signal: end.signal });
    await shown();
    end.abort(new Error('left'));
    await left;
    expect(await submitted(depositId)).toBeUndefined();
    const resumed = elsewhere().payments.resume((await kept()).id);
    await until(async () => (await submitted(depositId)) === hash);
    await bench.mine(1);
    expect(await resumed).toMatchObject([{ transactionHash: hash }]);
  });
});

it('does not ask after a reload for what the person has changed back meanwhile', async () => {
  const end = new AbortController();
  await bench.held(async () => {
    const { hash, end: left } = await sendDeposit({ signal: end.signal });
    await shown();
    wallet.accounts = [await connect(bench.anvil.url, devAccount(6))];
    await until(async () => (await listed())[0].attention === 'account');
    end.abort(new Error('left'));
    await left;
    wallet.accounts = [saver];
    const page = elsewhere();
    const resumed = page.payments.resume((await kept()).id, { wallet });
    await until(async () => (await listed(page))[0].attention === undefined);
    await bench.mine(1);
    expect(await resumed).toMatchObject([{ transactionHash: hash }]);
  });
});

it('is left even if the node answers only then', async () => {
  const end = new AbortController();
  const { opened, answer } = open('eth_getTransactionByHash');
  const { hash, going } = await bench.held(async () => {
    const sent = await sendDeposit({ signal: end.signal });
    await opened;
    end.abort(new Error('left'));
    expect(await sent.end).toMatchObject({ message: 'left' });
    const count = sent.seen.length;
    answer();
    const page = elsewhere();
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
  const { opened, answer } = open();
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

describe('what is on its way is not paid again', () => {
  it('if this page took it for dropped, and the node knows it after all', async () => {
    const { id, depositId } = await newPool();
    wallet.answers.eth_getTransactionByHash = () => null;
    const pay = { transaction: depositId, wallet };
    await bench.held(async () => {
      const end = await client.pay(id, { ...pay, droppedAfterMs: 0 }).catch(failed);
      expect(end).toMatchObject({ code: 'transaction_dropped' });
      delete wallet.answers.eth_getTransactionByHash;
      const { hash } = await kept();
      await expect(elsewhere().pay(id, pay)).rejects.toMatchObject({ ...isSubmitted, hash });
      expect(wallet.sent).toBe(1);
    });
    const [payment] = await client.payments.list();
    expect([payment.state, payment.failure]).toEqual(['sent', undefined]);
    expect(await elsewhere().payments.resume(payment.id)).toMatchObject([{ status: 'success' }]);
  });

  it.each([
    ['if nobody heard its hash', () => Promise.resolve()],
    ['even if its entry was removed', async () => client.payments.dismiss((await kept()).id)],
  ])('%s', async (_, meanwhile) => {
    const other = new BrowserWallet([saver]);
    const { poolId, depositId, hash } = await bench.held(async () => {
      const left = await leftUnheard();
      await meanwhile();
      const paying = elsewhere().pay(left.poolId, { transaction: left.depositId, wallet: other });
      await expect(paying).rejects.toMatchObject({ ...isSubmitted, hash: undefined });
      return left;
    });
    const paying = elsewhere().pay(poolId, { transaction: depositId, wallet: other });
    await expect(paying).rejects.toMatchObject({ ...isSubmitted, hash });
    expect(other.sent).toBe(0);
    // It is listed again, and followed.
    expect(await elsewhere().payments.resume((await kept()).id)).toMatchObject([{ transactionHash: hash }]);
  });

  it('by another tab, also if no deposit was announced', async () => {
    const { id } = await newPool();
    const { opened, answer } = open();
    const paying = client.pay(id, { amount: 3n, wallet });
    await opened;
    const other = new BrowserWallet([saver]);
    const resumed = elsewhere().payments.resume((await kept()).id, { wallet: other });
    await expect(resumed).rejects.toMatchObject(isSubmitted);
    answer();
    expect(await paying).toHaveLength(1);
    expect([wallet.sent, other.sent]).toEqual([1, 0]);
  });

  it('by a page that shares nothing but the locks and storage of the browser', async () => {
    const browser = new TestBrowser();
    const shared = storage();
    const page = (): SavingsClient =>
      bench.client({ tokens: client.tokens, payments: webPayments(shared), tabs: browser.open() });
    const { id: pool, depositId } = await newPool();
    const { opened, answer } = open();
    const request = { kind: 'deposit', pool, depositId } as const;
    const first = page();
    const paying = first.pay(request, { wallet });
    await opened;
    const other = new BrowserWallet([saver]);
    await expect(page().pay(request, { wallet: other })).rejects.toMatchObject(isSubmitted);
    answer();
    expect(await paying).toHaveLength(1);
    expect([wallet.sent, other.sent]).toEqual([1, 0]);
    await until(async () => (await first.payments.list())[0].arrived);
  });

  it('by an approval: after a reload it is followed before the wallet is asked for more', async () => {
    wallet.without(SIGN);
    const { id, depositId } = await newPool();
    const [page, other] = [memoryPayments(), new BrowserWallet([saver]).without(SIGN)];
    await bench.held(async () => {
      void client.pay(id, { transaction: depositId, wallet }).catch(failed);
      const isApproving = ({ state, step }: Payment): boolean => state === 'sent' && step === 'approve';
      await until(async () => (await client.payments.list()).some(isApproving));
      const payment = await kept();
      expect(isSent(payment)).toBe(false);
      await client.payments.cancel(payment.id);
      await page.put(payment);
      const resumed = elsewhere(page).payments.resume(payment.id, { wallet: other });
      await until(() => other.count('eth_getTransactionReceipt') > 0);
      expect(other.sent).toBe(0);
      await bench.mine(1);
      // The node has it. Before, a block would come without it.
      await until(async () => isSent((await page.list())[0]));
      await bench.mine(1);
      expect(await resumed).toHaveLength(1);
    });
    expect([wallet.sent, other.sent]).toEqual([1, 1]);
  });

  it('by a payment that began after it was cancelled, if the wallet sends the first one after all', async () => {
    const { id, depositId } = await newPool();
    const [first, again] = [open(), new BrowserWallet([saver])];
    const pay = (by: BrowserWallet): Promise<unknown> =>
      client.pay(id, { transaction: depositId, wallet: by }).catch(failed);
    const cancelled = pay(wallet);
    await first.opened;
    await client.payments.cancel((await kept()).id);
    expect(await cancelled).toMatchObject({ name: 'AbortError' });
    const second = open(SIGN, again);
    const paying = pay(again);
    await second.opened;
    first.answer();
    expect(await paying).toMatchObject(isSubmitted);
    expect(again.sent).toBe(0);
    expect(await client.transactions.confirmed(depositId)).toBeDefined();
  });
});

describe('a payment that is cancelled', () => {
  it('does not go on when the wallet approves after all', async () => {
    wallet.without(SIGN);
    const { id, depositId } = await newPool();
    const { opened, answer } = open();
    const paying = client.pay(id, { transaction: depositId, wallet }).catch(failed);
    await opened;
    const before = await saver.getTransactionCount({ address: saver.account.address });
    await client.payments.cancel((await kept()).id);
    expect(await paying).toMatchObject({ name: 'AbortError' });
    answer();
    const count = (): Promise<number> => saver.getTransactionCount({ address: saver.account.address });
    await until(async () => (await count()) > before);
    for (let turn = 0; turn < 20; turn++) await count();
    expect([(await kept()).state, wallet.sent]).toEqual(['cancelled', 1]);
  });

  it('in another tab does not ask the wallet', async () => {
    const { id, depositId } = await newPool();
    const { opened, answer } = open('eth_getBalance');
    const paying = client.pay(id, { transaction: depositId, wallet }).catch(failed);
    await opened;
    expect(await elsewhere().payments.cancel((await kept()).id)).toBe(true);
    answer();
    expect(await paying).toMatchObject({ name: 'AbortError' });
    expect([(await kept()).state, wallet.count(SIGN), wallet.sent]).toEqual(['cancelled', 0, 0]);
    // It can be gone on with, by a word of the person.
    const { id: again } = await kept();
    expect(await client.payments.resume(again, { wallet })).toHaveLength(1);
  });

  it('in another tab ends at once where the store tells of it', async () => {
    const watch = (changed: () => void): (() => void) => {
      listeners.add(changed);
      return () => listeners.delete(changed);
    };
    const shared = { ...store, watch };
    const tab = bench.client({ payments: shared, tokens: client.tokens });
    const { id, depositId } = await newPool();
    const { opened } = open();
    const paying = tab.pay(id, { transaction: depositId, wallet }).catch(failed);
    await opened;
    expect(await elsewhere().payments.cancel((await kept()).id)).toBe(true);
    for (const changed of listeners) changed();
    expect(await paying).toMatchObject({ name: 'AbortError' });
    expect((await kept()).state).toBe('cancelled');
    expect(listeners.size).toBe(0);
  });

  it('in the last moment does not ask the wallet', async () => {
    const { id } = await newPool();
    const end = new AbortController();
    const onChange = ({ state }: Payment): void => {
      if (state === 'wallet') end.abort(new Error('enough'));
    };
    const paying = client.pay(id, { amount: 3n, wallet, onChange, signal: end.signal });
    await expect(paying).rejects.toThrow('enough');
    expect([wallet.count(SIGN), wallet.sent]).toEqual([0, 0]);
  });
});

it('is patient with nodes that show nothing, whatever else the account sends, and looks at that once', async () => {
  const { id } = await newPool();
  const looks: boolean[] = [];
  wallet.answers.eth_getBlockByNumber = ({ params }, next) => {
    looks.push(params[1]);
    return next();
  };
  wallet.answers.eth_sendTransaction = () => `0x${'11'.repeat(32)}`;
  const end = new AbortController();
  let ended: unknown;
  const paying = client.pay(id, { amount: 3n, wallet, signal: end.signal, droppedAfterMs: 4_000 });
  void paying.catch((error: unknown) => (ended = error));
  const searches = (): number => looks.filter(Boolean).length;
  const receipts = (): number => wallet.count('eth_getTransactionReceipt');
  const moreLooks = (): Promise<void> => {
    const before = receipts();
    return until(() => receipts() >= before + 3);
  };
  await until(receipts);
  for (const expected of [1, 3]) {
    await receiptOf(saver, await saver.sendTransaction({ to: OTHER, value: 1n }));
    await moreLooks();
    // Each of what the account has sent since.
    expect([searches(), ended]).toEqual([expected, undefined]);
  }
  end.abort(new Error('left'));
  await expect(paying).rejects.toThrow('left');
});

it('follows by the public node what was sent by a wallet that answers no more', async () => {
  const { id } = await newPool();
  const onSent = (): void => void (wallet.answers.eth_chainId = () => Promise.reject(new Error('gone')));
  const { end } = await bench.held(async () => ({ end: client.pay(id, { amount: 3n, wallet, onSent }) }));
  expect(await end).toMatchObject([{ status: 'success' }]);
});

it('asks for as much ether as the call takes', async () => {
  const { id } = await newPool();
  await client.pay(id, { amount: 9n, wallet });
  await bench.atHead();
  const { address } = saver.account;
  const [before, price] = [await saver.getBalance({ address }), await saver.getGasPrice()];
  const withdraw = (): Promise<unknown> => client.withdraw(id, { amount: 9n, wallet });
  try {
    await bench.rpc('anvil_setBalance', address, numberToHex(price * 20_000n));
    await expect(withdraw()).rejects.toMatchObject({ code: 'insufficient_ether' });
    await bench.rpc('anvil_setBalance', address, numberToHex(price * 200_000n));
    expect(await withdraw()).toHaveLength(1);
  } finally {
    await bench.rpc('anvil_setBalance', address, numberToHex(before));
  }
});
