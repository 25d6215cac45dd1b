import {
  type SavingsClient,
  type SavingsEvent,
  isSavingsError,
  memoryPayments,
} from '@pooled-savings/client';
import { parseEther } from 'viem';
import { bytes16 } from '#values/bytes16';
import { type DevClient, artifacts, deploy } from '#dev/deploy';
import { TEN, until } from '../../support/app';
import {
  BrowserWallet,
  PayingBench,
  REJECTED,
  UNSUPPORTED,
  newPool as createPool,
} from '../../support/browser/paying';

const OTHER_CHAIN = 5;
const bench = new PayingBench();
const { app } = bench;
let chain: DevClient;
let client: SavingsClient;
let wallet: BrowserWallet;

beforeAll(async () => {
  chain = await bench.begin();
  client = bench.client();
  wallet = new BrowserWallet([chain]).without('eth_signTypedData_v4');
  await client.signIn(wallet);
});
afterAll(() => bench.end());

const newPool = (): Promise<{ id: string; depositId: string }> => createPool(client);

it('pays, waits until it is confirmed, claims and withdraws; its events tell of each', async () => {
  const { id, depositId } = await newPool();
  const seen: SavingsEvent[] = [];
  const end = new AbortController();
  const ofPool = ['deposit.confirmed', 'yield.claimed', 'withdrawal.confirmed'] as const;
  let onConnected = (): void => undefined;
  const isConnected = new Promise<void>((resolve) => (onConnected = resolve));
  const following = (async () => {
    for await (const event of client.events({ topics: ofPool, signal: end.signal, onConnected }))
      if (seen.push(event) === 3) break;
  })();
  await isConnected;
  const confirmed = client.transactions.confirmed(depositId);
  const told: string[] = [];
  const receipts = await client.pay(
    { kind: 'deposit', pool: id, depositId },
    {
      wallet,
      onSent: (call, hash) => told.push(`sent ${call.name} ${hash}`),
      onMined: (call, { transactionHash }) => told.push(`mined ${call.name} ${transactionHash}`),
    },
  );
  const [approve, deposit] = receipts.map(({ transactionHash }) => transactionHash);
  expect(told).toEqual([
    `sent approve ${approve}`,
    `mined approve ${approve}`,
    `sent deposit ${deposit}`,
    `mined deposit ${deposit}`,
  ]);
  expect(await confirmed).toMatchObject({ id: depositId, status: 'CONFIRMED', txHash: deposit, amount: TEN });

  await bench.rpc('evm_increaseTime', 60);
  await bench.call(bench.owner, 'accrueYield', [bytes16(id), 500n, 100]);
  await bench.atHead();
  const [claimed] = await client.pay({ kind: 'claimYield', pool: id }, { wallet });
  const report = jest.spyOn(console, 'error').mockReturnValue(undefined);
  const fail = (): void => {
    throw new Error('a mistake of the page');
  };
  const callbacks = { onSent: fail, onMined: fail, onChange: fail };
  const [withdrawn] = await client.pay({ kind: 'withdraw', pool: id, amount: 7n }, { wallet, ...callbacks });
  expect(report).toHaveBeenCalledWith(new Error('a mistake of the page'));
  report.mockRestore();
  await following;
  expect(seen).toMatchObject([
    { topic: 'deposit.confirmed', poolId: id, transactionId: depositId, txHash: deposit, amount: TEN },
    { topic: 'yield.claimed', poolId: id, txHash: claimed.transactionHash },
    { topic: 'withdrawal.confirmed', poolId: id, txHash: withdrawn.transactionHash, amount: '7' },
  ]);
  expect(await client.pools.position(id)).toMatchObject({ deposited: TEN, withdrawn: '7' });
});

it('pays with a viem wallet client', async () => {
  const { id } = await newPool();
  await client.pay({ kind: 'deposit', pool: id, amount: 9n }, { wallet: chain });
  await bench.atHead();
  expect(await client.pools.position(id)).toMatchObject({ deposited: '9' });
});

it('buys tickets', async () => {
  // As `useSyncExternalStore` of React reads it.
  const changes: unknown[] = [];
  const { subscribe } = client.payments;
  const forget = subscribe(() => changes.push(client.payments.state));
  const { timestamp } = await bench.owner.getBlock();
  await bench.lottery(bench.owner, 'openDraw', [parseEther('2'), timestamp + 3600n]);
  await bench.atHead();
  expect(await client.pay({ kind: 'buyTickets', count: 3n }, { wallet })).toHaveLength(2);
  const arrived = async (of: SavingsClient): Promise<true | undefined> =>
    (await of.payments.list())[0].arrived;
  const [bought] = await client.payments.list();
  expect(bought).toMatchObject({ state: 'done', cost: parseEther('6').toString() });
  await until(() => arrived(client));
  expect(client.payments.state).toBe(await client.payments.list());
  expect(changes.at(-1)).toBe(client.payments.state);
  forget();
  const { data } = await client.lottery.mine();
  expect(data).toMatchObject([{ tickets: 3, spent: parseEther('6').toString() }]);
  // A payment of a page that was closed before.
  const payments = memoryPayments();
  await payments.put({ ...bought, arrived: undefined });
  const later = bench.client({ tokens: client.tokens, payments });
  const end = later.payments.subscribe(() => undefined);
  await until(() => arrived(later));
  end();
});

it('opens and joins a circle, and pays an announced deposit into it', async () => {
  const other = bench.client();
  const second = await bench.funded(6);
  await other.signIn(second);
  const { timestamp } = await bench.owner.getBlock();
  const joinBy = new Date(Number(timestamp + 3600n) * 1000).toISOString();
  const { id: pool, depositId } = await client.pools.create({ type: 'rotating', initialDeposit: TEN });
  const members = [chain, second].map(({ account }) => account.address);
  await client.pay(
    { kind: 'openCircle', pool, contribution: TEN, period: 3600, joinBy, members },
    { wallet },
  );
  await bench.atHead();
  await client.pay({ kind: 'join', pool }, { wallet });
  await other.pay({ kind: 'join', pool }, { wallet: second });
  await bench.atHead();
  await client.pay({ kind: 'contribute', pool, depositId }, { wallet });
  await client.transactions.confirmed(depositId);
  expect(await client.pools.rounds(pool)).toMatchObject({
    circle: { state: 'RUNNING', contribution: TEN },
    mine: { place: 0, joined: true, paid: true },
  });
});

/** A client whose service is behind the chain: it knows nothing of a withdrawal yet. */
async function behind(amount: bigint): Promise<{ late: SavingsClient; id: string }> {
  const { id } = await newPool();
  await client.pay({ kind: 'deposit', pool: id, amount }, { wallet });
  await bench.atHead();
  const { data } = await client.api.GET('/pools/{id}/calls/withdraw', {
    params: { path: { id }, query: { amount: `${amount}` } },
  });
  await client.pay({ kind: 'withdraw', pool: id, amount }, { wallet });
  const answer = (): Promise<Response> => Promise.resolve(Response.json(data));
  const late = bench.client({
    tokens: client.tokens,
    fetch: (request) => ((request as Request).url.includes('/calls/') ? answer() : fetch(request)),
  });
  return { late, id };
}

it('sends nothing that the contract refuses, and says why by its ABI', async () => {
  const { late, id } = await behind(7n);
  const before = wallet.sent;
  await expect(late.pay({ kind: 'withdraw', pool: id, amount: 7n }, { wallet })).rejects.toMatchObject({
    code: 'contract_error',
    call: 'withdraw',
    name: 'InsufficientBalance',
    args: { balance: 0n, needed: 7n },
  });
  expect(wallet.sent).toBe(before);
});

it('says which call the contract reverted', async () => {
  const { id } = await newPool();
  await client.pay({ kind: 'deposit', pool: id, amount: 7n }, { wallet });
  await bench.atHead();
  // The same is sent elsewhere while the wallet is open.
  const slow = new BrowserWallet([chain]);
  slow.answers.eth_sendTransaction = async ({ params: [call] }) => {
    await slow.send(call);
    return slow.send({ ...call, gas: '0x7a120' });
  };
  await expect(
    client.pay({ kind: 'withdraw', pool: id, amount: 7n }, { wallet: slow }),
  ).rejects.toMatchObject({ code: 'transaction_reverted', call: 'withdraw' });
});

describe('confirmed', () => {
  it('throws for a deposit that has expired', async () => {
    const { depositId } = await newPool();
    await app.sql(`UPDATE transactions SET status = 'EXPIRED' WHERE id = $1`, [depositId]);
    await expect(client.transactions.confirmed(depositId)).rejects.toMatchObject({
      code: 'deposit_expired',
      transactionId: depositId,
    });
  });

  it('ends by the signal', async () => {
    const { depositId } = await newPool();
    const signal = AbortSignal.timeout(200);
    const error: unknown = await client.transactions
      .confirmed(depositId, { signal })
      .catch((e: unknown) => e);
    expect([isSavingsError(error), (error as Error).name]).toEqual([false, 'TimeoutError']);
  });
});

describe('a wallet on another chain', () => {
  const elsewhere = (): BrowserWallet =>
    new BrowserWallet([chain], OTHER_CHAIN).without('eth_signTypedData_v4');

  it('is asked to change over, once', async () => {
    const { id } = await newPool();
    const other = elsewhere();
    await client.pay({ kind: 'deposit', pool: id, amount: 1n }, { wallet: other });
    expect(other.count('wallet_switchEthereumChain')).toBe(1);
  });

  it.each([
    ['refuses', () => Promise.reject(REJECTED)],
    ['only says so', () => null],
    ['cannot', () => Promise.reject(UNSUPPORTED)],
  ])('sends nothing there if it %s', async (_, answer) => {
    const { id } = await newPool();
    const other = elsewhere();
    other.answers.wallet_switchEthereumChain = answer;
    await expect(client.pay(id, { amount: 1n, wallet: other })).rejects.toMatchObject({
      code: 'wrong_chain',
      expected: 31337,
      actual: OTHER_CHAIN,
    });
    expect([other.sent, other.count('wallet_addEthereumChain')]).toEqual([0, 0]);
  });

  const unknown = Object.assign(new Error('Unrecognized chain ID.'), { code: 4902 });
  it.each([
    ['says so', unknown],
    [
      'wraps that',
      Object.assign(new Error('Internal error'), { code: -32603, data: { originalError: { code: 4902 } } }),
    ],
  ])('that does not know the chain and %s has it added, and is asked to change over', async (_, error) => {
    const { id } = await newPool();
    const other = elsewhere();
    let added: any;
    other.answers.wallet_switchEthereumChain = (_asked, next) => (added ? next() : Promise.reject(error));
    other.answers.wallet_addEthereumChain = ({ params }) => void (added = params[0]);
    await client.pay({ kind: 'deposit', pool: id, amount: 1n }, { wallet: other });
    expect(added).toMatchObject({
      chainId: '0x7a69',
      chainName: 'Local chain',
      nativeCurrency: { symbol: 'ETH', decimals: 18 },
      rpcUrls: [expect.stringContaining('http://')],
    });
    expect(other.chainId).toBe(31337);
  });

  it('sends nothing if the person does not want it added', async () => {
    const { id } = await newPool();
    const other = elsewhere();
    other.answers.wallet_switchEthereumChain = () => Promise.reject(unknown);
    other.answers.wallet_addEthereumChain = () => Promise.reject(REJECTED);
    await expect(client.pay(id, { amount: 1n, wallet: other })).rejects.toMatchObject({
      code: 'wrong_chain',
    });
    expect(other.sent).toBe(0);
  });
});

describe('a wallet with another account', () => {
  it('sends nothing, and both accounts are told', async () => {
    const { id } = await newPool();
    const stranger = await bench.funded(6);
    for (const other of [new BrowserWallet([stranger]), stranger])
      await expect(client.pay(id, { amount: 1n, wallet: other })).rejects.toMatchObject({
        code: 'account_mismatch',
        expected: chain.account.address,
        actual: stranger.account.address,
      });
  });

  it('pays with the account of the session, if it has that one too', async () => {
    const { id } = await newPool();
    const both = new BrowserWallet([await bench.funded(6), chain]);
    const [{ from }] = await client.pay({ kind: 'deposit', pool: id, amount: 1n }, { wallet: both });
    expect(from).toBe(chain.account.address.toLowerCase());
  });

  it('is noticed between approval and deposit', async () => {
    const { id } = await newPool();
    const stranger = await bench.funded(6);
    const changing = new BrowserWallet([chain]).without('eth_signTypedData_v4');
    const onMined = (): void => void (changing.accounts = [stranger]);
    await expect(client.pay(id, { amount: 2n, wallet: changing, onMined })).rejects.toMatchObject({
      code: 'account_mismatch',
    });
    expect(changing.sent).toBe(1);
    // What is approved is not approved again.
    changing.accounts = [chain];
    expect(await client.pay({ kind: 'deposit', pool: id, amount: 2n }, { wallet: changing })).toHaveLength(1);
  });
});

describe('checkPayment', () => {
  const type = 'cooperative';

  it('takes what can be paid', () => client.checkPayment({ wallet, amount: TEN, type }));

  it('tells how many tokens are missing, and asks the person for nothing', async () => {
    const amount = parseEther('5000');
    const error = (await client.checkPayment({ wallet, amount, type }).catch((e: unknown) => e)) as {
      balance: bigint;
    };
    expect(error).toMatchObject({
      code: 'insufficient_tokens',
      needed: amount,
      missing: amount - error.balance,
    });
    const { id } = await newPool();
    const before = wallet.asked.length;
    await expect(client.pay({ kind: 'deposit', pool: id, amount }, { wallet })).rejects.toMatchObject({
      code: 'insufficient_tokens',
    });
    expect(wallet.asked.slice(before)).not.toContain('eth_sendTransaction');
  });

  it('knows the minimum of new pools, and that of the contract', async () => {
    const amount = parseEther('9');
    await expect(client.checkPayment({ wallet, amount, type })).rejects.toMatchObject({
      code: 'deposit_below_minimum',
      minimum: BigInt(TEN),
    });
    const { address } = await deploy(chain, artifacts.SavingsPool, [
      bench.deployment.token,
      chain.account.address,
      parseEther('3'),
    ]);
    await client.checkPayment({ wallet, amount, contract: address });
    await expect(client.checkPayment({ wallet, amount: 2n, contract: address })).rejects.toMatchObject({
      code: 'deposit_below_minimum',
      minimum: parseEther('3'),
    });
  });

  it('knows whether there is ether for gas', async () => {
    const address = chain.account.address;
    const before = await chain.getBalance({ address });
    await bench.rpc('anvil_setBalance', address, '0x1');
    try {
      await expect(client.checkPayment({ wallet, amount: TEN, type })).rejects.toMatchObject({
        code: 'insufficient_ether',
        balance: 1n,
      });
    } finally {
      await bench.rpc('anvil_setBalance', address, `0x${before.toString(16)}`);
    }
  });
});
