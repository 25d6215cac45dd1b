import { type Payment, type SavingsClient, isSent, memoryPayments, sendCalls } from '@pooled-savings/client';
import { type Abi, type Address, type Hash, type Hex, encodeFunctionData, parseEther, zeroHash } from 'viem';
import { type DevClient, artifacts, deploy, receiptOf } from '#dev/deploy';
import { compile } from '../../../scripts/compile-contracts';
import { BrowserWallet, PayingBench, REJECTED, newPool as createPool } from '../../support/browser/paying';

const CHAIN = '0x7a69';
const SIGN = 'eth_signTypedData_v4';
const DOMAIN_SEPARATOR = '0x3644e515';
const bench = new PayingBench();
let saver: DevClient;
let client: SavingsClient;
let wallet: BrowserWallet;
const store = memoryPayments();

beforeAll(async () => {
  saver = await bench.begin();
  client = bench.client({ payments: store });
  await client.signIn(new BrowserWallet([saver]));
});
afterAll(() => bench.end());
beforeEach(() => (wallet = new BrowserWallet([saver])));

const newPool = (): Promise<{ id: string; depositId: string }> => createPool(client);
/** What the person is asked for. */
const asked = (): string[] =>
  wallet.asked.filter((method) => [SIGN, 'eth_sendTransaction', 'wallet_sendCalls'].includes(method));

describe('a token with permits', () => {
  it('costs one signature and one transaction', async () => {
    const { id, depositId } = await newPool();
    expect(await client.pay({ kind: 'deposit', pool: id, depositId }, { wallet })).toHaveLength(1);
    expect(asked()).toEqual([SIGN, 'eth_sendTransaction']);
    expect(await client.transactions.confirmed(depositId)).toBeDefined();
  });

  it('sends nothing if the person does not sign', async () => {
    const { id, depositId } = await newPool();
    wallet.answers[SIGN] = () => Promise.reject(REJECTED);
    await expect(client.pay({ kind: 'deposit', pool: id, depositId }, { wallet })).rejects.toThrow();
    expect(asked()).toEqual([SIGN]);
  });

  const approved = ['eth_sendTransaction', 'eth_sendTransaction'];
  /** The node reports this code for the account, or for all others. */
  const codeIs = (code: string, isAccount: boolean) => (): void => {
    wallet.answers.eth_getCode = ({ params: [address] }, next) =>
      (address.toLowerCase() === saver.account.address.toLowerCase()) === isAccount ? code : next();
  };
  const domainIs = (answer: () => unknown) => (): void => {
    wallet.answers.eth_call = ({ params: [{ data }] }, next) =>
      data === DOMAIN_SEPARATOR ? answer() : next();
  };
  const reverted = Object.assign(new Error('reverted'), { code: 3 });
  it.each<[string, () => void, string[]]>([
    ['the wallet cannot sign it', () => wallet.without(SIGN), [SIGN, ...approved]],
    ['the account is a contract', codeIs('0x6001', true), approved],
    ['the contract is older than permits', codeIs('0x6001', false), approved],
    ["the domain differs from the token's", domainIs(() => zeroHash), approved],
    ['the token has none', domainIs(() => Promise.reject(reverted)), approved],
    [
      'somebody else has signed',
      () => (wallet.answers[SIGN] = () => saver.signMessage({ message: 'something else' })),
      [SIGN, ...approved],
    ],
  ])('is approved by a transaction if %s', async (_, prepare, expected) => {
    const { id } = await newPool();
    prepare();
    expect(await client.pay({ kind: 'deposit', pool: id, amount: 3n }, { wallet })).toHaveLength(2);
    expect(asked()).toEqual(expected);
  });
});

describe('a wallet that sends several calls as one', () => {
  const batches = new Map<string, Hash[]>();
  let calls: any;

  beforeEach(() => {
    wallet.answers.wallet_getCapabilities = () => ({ [CHAIN]: { atomic: { status: 'supported' } } });
    wallet.answers.wallet_sendCalls = async ({ params }) => {
      [calls] = params;
      const id = `batch ${batches.size}`;
      batches.set(id, await wallet.sendAll(calls));
      return { id };
    };
    wallet.answers.wallet_getCallsStatus = ({ params: [id] }) => ({
      status: 200,
      receipts: batches.get(id)?.map((transactionHash) => ({ transactionHash })),
    });
  });

  it('asks once, for all or nothing', async () => {
    const { id, depositId } = await newPool();
    const steps: (string | undefined)[] = [];
    const onChange = ({ step }: Payment): void => void steps.push(step);
    const sent: unknown[] = [];
    const onSent = ({ name }: { name: string }, hash: Hash): void => void sent.push(name, hash);
    const receipts = await client.pay({ kind: 'deposit', pool: id, depositId }, { wallet, onChange, onSent });
    expect(sent).toEqual(['deposit', receipts.at(-1)?.transactionHash]);
    expect(asked()).toEqual(['wallet_sendCalls']);
    expect(calls).toMatchObject({
      version: '2.0.0',
      chainId: CHAIN,
      from: saver.account.address,
      atomicRequired: true,
    });
    expect(steps.at(-1)).toBe('batch');
    expect(await client.transactions.confirmed(depositId)).toMatchObject({
      txHash: receipts.at(-1)?.transactionHash,
    });
  });

  it('sends what needs no approval as it is', async () => {
    const { id } = await newPool();
    const { deposit } = await approvedFor(id, 4n);
    expect(await client.pay({ kind: 'deposit', pool: id, amount: deposit }, { wallet })).toHaveLength(1);
    expect(asked()).toEqual(['eth_sendTransaction']);
  });

  it('is asked again after a reload, not sent again', async () => {
    const { id, depositId } = await newPool();
    const end = new AbortController();
    const usual = wallet.answers.wallet_getCallsStatus!;
    wallet.answers.wallet_getCallsStatus = () => {
      end.abort(new Error('left'));
      return { status: 100 };
    };
    const paying = client.pay({ kind: 'deposit', pool: id, depositId }, { wallet, signal: end.signal });
    await expect(paying).rejects.toThrow('left');
    wallet.answers.wallet_getCallsStatus = usual;
    const page = bench.client({ payments: store, tokens: client.tokens });
    const [payment] = await page.payments.list();
    expect(payment).toMatchObject({ state: 'sent', step: 'batch' });
    expect([isSent(payment), payment.hash]).toEqual([true, undefined]);
    await expect(page.pay({ kind: 'deposit', pool: id, depositId }, { wallet })).rejects.toMatchObject({
      code: 'deposit_submitted',
    });
    expect((await page.payments.resume(payment.id, { wallet })).length).toBeGreaterThan(0);
    expect(asked()).toEqual(['wallet_sendCalls']);
    expect(await client.transactions.confirmed(depositId)).toBeDefined();
  });

  describe('and has forgotten it at once', () => {
    let looked: number;
    beforeEach(() => {
      looked = 0;
      wallet.answers.wallet_getCallsStatus = async () => {
        // Its transactions reach the chain only after the first look.
        if (++looked === 2) await wallet.sendAll(calls);
        throw Object.assign(new Error('no such batch'), { code: 5730 });
      };
      wallet.answers.wallet_sendCalls = ({ params }) => {
        [calls] = params;
        return { id: '0x01' };
      };
    });

    it('is confirmed by the chain', async () => {
      const { id, depositId } = await newPool();
      const [{ transactionHash }] = await client.pay({ kind: 'deposit', pool: id, depositId }, { wallet });
      expect(looked).toBeGreaterThan(1);
      expect(await client.transactions.confirmed(depositId)).toMatchObject({ txHash: transactionHash });
    });

    it('is dropped if it never reaches the chain', async () => {
      const { id } = await newPool();
      wallet.answers.wallet_getCallsStatus = () =>
        Promise.reject(Object.assign(new Error('no such batch'), { code: 5730 }));
      const paying = client.pay({ kind: 'deposit', pool: id, amount: 5n }, { wallet, droppedAfterMs: 0 });
      await expect(paying).rejects.toMatchObject({ code: 'transaction_dropped' });
    });
  });

  it.each([
    ['the person does not want it to become able to', 5750, [SIGN, 'eth_sendTransaction']],
    ['it cannot after all', 5760, [SIGN, 'eth_sendTransaction']],
  ])('pays without if %s', async (_, code, rest) => {
    const { id } = await newPool();
    wallet.answers.wallet_getCapabilities = () => ({ [CHAIN]: { atomic: { status: 'ready' } } });
    wallet.answers.wallet_sendCalls = () => Promise.reject(Object.assign(new Error('no'), { code }));
    expect(await client.pay({ kind: 'deposit', pool: id, amount: 5n }, { wallet })).toHaveLength(1);
    expect(asked()).toEqual(['wallet_sendCalls', ...rest]);
  });

  it.each<[string, object, object]>([
    [
      'reverted',
      { status: 500, receipts: [{ transactionHash: zeroHash }] },
      { code: 'transaction_reverted' },
    ],
    ['was never sent', { status: 400 }, { code: 'transaction_dropped' }],
  ])('says that it %s', async (_, status, error) => {
    const { id } = await newPool();
    wallet.answers.wallet_sendCalls = () => ({ id: '0x01' });
    wallet.answers.wallet_getCallsStatus = () => status;
    await expect(client.pay({ kind: 'deposit', pool: id, amount: 5n }, { wallet })).rejects.toMatchObject(
      error,
    );
  });
});

/** What is approved already: as much as the deposit that follows. */
async function approvedFor(id: string, deposit: bigint): Promise<{ deposit: bigint }> {
  const { contractAddress } = await client.pools.get(id);
  const hash = await saver.writeContract({
    abi: artifacts.TestToken.abi,
    address: bench.deployment.token,
    functionName: 'approve',
    args: [contractAddress, deposit],
  });
  await receiptOf(saver, hash);
  return { deposit };
}

const encoded = (abi: Abi, functionName: string, args: unknown[]): Hex =>
  encodeFunctionData({ abi, functionName, args });

it('changes an allowance that is left over at once, and of tokens that refuse that by zero first', async () => {
  const { OldToken } = compile(['test/support/solidity/OldToken.sol']) as Record<
    string,
    { abi: Abi; bytecode: Hex }
  >;
  const { address: old } = await deploy(saver, OldToken);
  for (const [token, steps] of [
    [bench.deployment.token, ['approve', 'deposit']],
    [old, ['approve', 'approve', 'deposit']],
  ] as [Address, string[]][]) {
    const { address: pool } = await deploy(saver, artifacts.SavingsPool, [token, saver.account.address, 1n]);
    const abi: Abi = [...artifacts.TestToken.abi, ...artifacts.SavingsPool.abi];
    const call = <const Name extends string>(name: Name, to: Address, args: unknown[]) =>
      ({
        name,
        chainId: 31337,
        to,
        data: encoded(abi, name, args),
        value: '0',
      }) as const;
    const { data } = call('mint', token, [saver.account.address, 1000n]);
    await saver.sendTransaction({ to: token, data });
    const approval = { to: token, data: call('approve', token, [pool, 1n]).data };
    await receiptOf(saver, await saver.sendTransaction(approval));
    const id = `0x${'a1'.repeat(16)}`;
    const calls = [call('approve', token, [pool, 100n]), call('deposit', pool, [id, id, 100n])];
    const sent: string[] = [];
    const onSent = ({ name }: { name: string }): void => void sent.push(name);
    await sendCalls(calls, new BrowserWallet([saver]).without(SIGN), { onSent });
    expect(sent).toEqual(steps);
  }
});

it('takes back what was paid into a cancelled draw', async () => {
  const { timestamp } = await bench.owner.getBlock();
  await bench.lottery(bench.owner, 'openDraw', [parseEther('2'), timestamp + 3600n]);
  await bench.atHead();
  await client.pay({ kind: 'buyTickets', count: 3n }, { wallet });
  const drawId = await bench.owner.readContract({
    abi: artifacts.LotteryPool.abi,
    address: bench.deployment.contracts.lottery,
    functionName: 'currentDraw',
  });
  await bench.lottery(bench.owner, 'cancelDraw', [drawId]);
  await bench.atHead();
  const { data } = await client.lottery.mine();
  expect(data[0]).toMatchObject({ refundable: parseEther('6').toString() });
  expect(await client.refund(data[0], { wallet })).toHaveLength(1);
  await bench.atHead();
  expect((await client.lottery.mine()).data[0]).toMatchObject({ refundable: '0' });
  await expect(client.claimPrize(data[0], { wallet })).rejects.toMatchObject({ code: 'wrong_draw_status' });
});
