import { type Payment, type SavingsClient, isSent, memoryPayments } from '@pooled-savings/client';
import { type Hash, numberToHex } from 'viem';
import { devAccount, receiptOf } from '#dev/deploy';
import { until } from '../../support/app';
import { BrowserWallet, PayingBench, newPool as createPool } from '../../support/browser/paying';

const SIGN = 'eth_signTypedData_v4';
const OTHER = devAccount(7).address;
const bench = new PayingBench();
let saver: Awaited<ReturnType<PayingBench['funded']>>;
let listeners: Set<() => void>;
let store: ReturnType<typeof memoryPayments>;
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
  listeners = new Set();
  client = bench.client({ payments: store });
  wallet = new BrowserWallet([saver]);
  await client.signIn(wallet);
});

const newPool = (): Promise<{ id: string; depositId: string }> => createPool(client);
/** Another tab, or a page that was loaded anew: the same session and store. */
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
