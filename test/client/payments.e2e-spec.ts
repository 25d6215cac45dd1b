import { SavingsClient, type SavingsEvent, isSavingsError } from '@pooled-savings/client';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import pino from 'pino';
import { type Hex, hexToString, parseEther } from 'viem';
import { bytes16 } from '#values/bytes16';
import { createIndexer } from '#indexer/indexer.setup';
import { type DevClient, connect, devAccount, execute } from '#dev/deploy';
import { TEN, TestApp, settings } from '../support/app';
import { ChainBench } from '../support/chain-bench';

jest.setTimeout(120_000);

const OTHER_CHAIN = 5;
const bench = new ChainBench();
const app = new TestApp();
let indexer: NestFastifyApplication;
let chain: DevClient;
let client: SavingsClient;
let wallet: ReturnType<typeof browserWallet>;

/** A browser's wallet over a real account: EIP-1193, nothing else. */
function browserWallet({
  chainId = 31337,
  switches = 'yes',
}: { chainId?: number; switches?: 'yes' | 'no' | 'says so' } = {}) {
  const asked: string[] = [];
  const request = async ({ method, params }: { method: string; params?: any }): Promise<any> => {
    asked.push(method);
    switch (method) {
      case 'eth_requestAccounts':
      case 'eth_accounts':
        return [chain.account.address];
      case 'eth_chainId':
        return `0x${chainId.toString(16)}`;
      case 'wallet_switchEthereumChain':
        if (switches === 'no') throw Object.assign(new Error('Rejected.'), { code: 4001 });
        if (switches === 'yes') chainId = Number(params[0].chainId);
        return null;
      case 'personal_sign':
        return chain.signMessage({ message: hexToString(params[0] as Hex) });
      case 'eth_sendTransaction': {
        const { to, data, gas } = params[0] as Record<'to' | 'data' | 'gas', Hex | undefined>;
        return chain.sendTransaction({ to, data, gas: gas && BigInt(gas) });
      }
      default:
        return chain.request({ method, params } as never);
    }
  };
  return { asked, request: request as never };
}
const sent = (of: { asked: string[] }): number =>
  of.asked.filter((method) => method === 'eth_sendTransaction').length;

beforeAll(async () => {
  await app.start({}, undefined, async (database) => {
    await bench.start(database);
    return bench.settings();
  });
  await app.listen();
  chain = await connect(bench.anvil.url, devAccount(5));
  await execute(chain, 'TestToken', bench.deployment.token, 'mint', [
    chain.account.address,
    parseEther('1000'),
  ]);
  indexer = await createIndexer(settings(app.database.url, bench.settings()), pino({ level: 'silent' }));
  await bench.atHead();
  client = new SavingsClient({ baseUrl: `http://127.0.0.1:${app.port}` });
  wallet = browserWallet();
  await client.signIn(wallet);
});
afterAll(async () => {
  await indexer?.close();
  await bench.stop();
  await app.stop();
});

const newPool = (): Promise<{ id: string; depositId: string }> =>
  client.pools.create({ type: 'cooperative', initialDeposit: TEN });

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
  const receipts = await client.pay(id, {
    transaction: depositId,
    wallet,
    onSent: (call, hash) => told.push(`sent ${call.name} ${hash}`),
    onMined: (call, { transactionHash }) => told.push(`mined ${call.name} ${transactionHash}`),
  });
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
  const [claimed] = await client.claim(id, { wallet });
  const [withdrawn] = await client.withdraw(id, { amount: 7n, wallet });
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
  await client.pay(id, { amount: 9n, wallet: chain });
  await bench.atHead();
  expect(await client.pools.position(id)).toMatchObject({ deposited: '9' });
});

it('buys tickets', async () => {
  const { timestamp } = await bench.owner.getBlock();
  await bench.lottery(bench.owner, 'openDraw', [parseEther('2'), timestamp + 3600n]);
  await bench.atHead();
  expect(await client.buyTickets(3, { wallet })).toHaveLength(2);
  await bench.atHead();
  const { data } = await client.lottery.mine();
  expect(data).toMatchObject([{ tickets: 3, spent: parseEther('6').toString() }]);
});

it('sends nothing that the contract refuses, and says why by its ABI', async () => {
  const { id } = await newPool();
  const before = sent(wallet);
  await expect(client.withdraw(id, { amount: 1n, wallet })).rejects.toMatchObject({
    code: 'contract_error',
    call: 'withdraw',
    name: 'InsufficientBalance',
    args: { balance: 0n, needed: 1n },
  });
  expect(sent(wallet)).toBe(before);
});

it('says which call the contract reverted', async () => {
  const { id } = await newPool();
  // A wallet that sends without trying first, and that cannot try for others.
  const rash = browserWallet();
  const request = rash.request as (asked: { method: string; params?: any }) => Promise<unknown>;
  const withGas = async (asked: { method: string; params?: any }): Promise<unknown> => {
    if (asked.method === 'eth_call') throw Object.assign(new Error('No such method.'), { code: 4200 });
    return request(
      asked.method === 'eth_sendTransaction'
        ? { ...asked, params: [{ ...asked.params[0], gas: '0x7a120' }] }
        : asked,
    );
  };
  await expect(
    client.withdraw(id, { amount: 1n, wallet: { request: withGas as never } }),
  ).rejects.toMatchObject({ code: 'transaction_reverted', call: 'withdraw' });
});

it('ends by the signal while it waits for the chain; what was sent stays sent', async () => {
  const { id } = await newPool();
  const end = new AbortController();
  await bench.rpc('evm_setAutomine', false);
  try {
    const onSent = (): void => end.abort(new Error('enough'));
    const paying = client.pay(id, { amount: 5n, wallet, signal: end.signal, onSent });
    await expect(paying).rejects.toThrow('enough');
  } finally {
    await bench.rpc('evm_setAutomine', true);
    await bench.mine(1);
  }
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
  it('is asked to change over, once', async () => {
    const { id } = await newPool();
    const other = browserWallet({ chainId: OTHER_CHAIN });
    await client.pay(id, { amount: 1n, wallet: other });
    expect(other.asked.filter((method) => method === 'wallet_switchEthereumChain')).toHaveLength(1);
  });

  it.each(['no', 'says so'] as const)('sends nothing there if it does not: %s', async (switches) => {
    const { id } = await newPool();
    const other = browserWallet({ chainId: OTHER_CHAIN, switches });
    await expect(client.pay(id, { amount: 1n, wallet: other })).rejects.toMatchObject({
      code: 'wrong_chain',
      expected: 31337,
      actual: OTHER_CHAIN,
    });
    expect(sent(other)).toBe(0);
  });
});
