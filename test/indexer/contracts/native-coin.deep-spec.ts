import { SavingsClient } from '@pooled-savings/client';
import { Module } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { type Address, encodeFunctionData, parseAbi, toHex } from 'viem';
import { deploy, receiptOf } from '#dev/deploy';
import { adapterOf } from '#indexer/adapters/adapter';
import { adapterReport } from '#indexer/leading/adapter-report';
import type { Happening } from '#ledger/adapters/happening';
import { type EventOf, NATIVE_COIN, PoolContract, eventsOf } from '#ledger/adapters/pool-contract';
import { compile } from '../../../scripts/compile-contracts';
import { type SignedIn, TEN } from '../../support/app';
import { BrowserWallet } from '../../support/browser/paying';
import { useService } from '../../support/chain/chain-bench';
import { call } from '../../support/chain/foreign-pools';
import { Operators } from '../../support/verify/operators';

const { CoinBox } = compile(['test/support/solidity/CoinBox.sol']);
const abi = parseAbi([
  'event PutIn(address indexed account, uint256 amount)',
  'event TookOut(address indexed account, uint256 amount)',
]);
const On = eventsOf(abi);
type Event<Name extends Parameters<typeof On>[0]> = EventOf<typeof abi, Name>;

class Box {
  @On('PutIn')
  putIn({ account, amount }: Event<'PutIn'>): Happening {
    return { kind: 'Deposited', poolAccount: account, account, amount };
  }

  @On('TookOut')
  tookOut({ account, amount }: Event<'TookOut'>): Happening {
    return { kind: 'Withdrawn', poolAccount: account, account, amount };
  }
}

const VIEW = ['function held(address account) view returns (uint256)'] as const;
const COIN = { symbol: 'BTC', decimals: 18 };
const options = {
  types: ['individual'],
  abi,
  poolsBy: 'account',
  token: COIN,
  views: { balance: 'held(address account)' },
  calls: { deposit: 'putIn()', withdraw: 'takeOut(uint256 amount)' },
} as const;

@PoolContract({ ...options, name: 'box' })
class CoinAdapter extends Box {}
@PoolContract({ ...options, name: 'other-coin', token: { ...COIN, decimals: 8 } })
class OtherCoin extends Box {}
@PoolContract({ ...options, name: 'unsaid', token: undefined })
class Unsaid extends Box {}

@Module({ providers: [CoinAdapter, OtherCoin, Unsaid] })
class BoxModule {}

describe("a contract that holds the chain's own coin", () => {
  let [box, other, unsaid]: Address[] = [];
  const { bench, app, signIn } = useService(async ({ owner, further }) => {
    const boxes: Address[] = [];
    for (let i = 0; i < 3; i += 1)
      boxes.push((await deploy(owner, CoinBox)).address.toLowerCase() as Address);
    [box, other, unsaid] = boxes;
    further.push(['individual:box', box], ['individual:other-coin+', other], ['individual:unsaid+', unsaid]);
  });
  const operators = new Operators(bench, [BoxModule]);
  let indexer: NestFastifyApplication;
  let saver: SignedIn;
  let pool: { id: string; depositId: string };
  let client: SavingsClient;
  let wallet: BrowserWallet;

  const position = async (): Promise<unknown> => {
    await bench.atHead();
    return (await app.get(`/pools/${pool.id}/position`, saver)).body.data;
  };

  beforeAll(async () => {
    await app.listen();
    indexer = await bench.follow({}, [BoxModule]);
    await bench.mine(1);
    await bench.atHead();
    saver = await signIn(1);
    client = new SavingsClient({ baseUrl: `http://127.0.0.1:${app.port}` });
    wallet = new BrowserWallet([bench.saver]);
    await client.signIn(wallet);
    pool = await client.pools.create({ type: 'individual', initialDeposit: TEN });
  });

  it('has it as its token, and contracts whose coin is another, or is not said, are quarantined', async () => {
    const { contractTokens } = await client.config();
    expect(contractTokens).toMatchObject({ [box]: { address: NATIVE_COIN, ...COIN } });
    expect(Object.keys(contractTokens)).not.toContain(unsaid);
    const { contracts } = (await indexer.inject('/health')).json<{ contracts: object[] }>();
    const state = 'quarantined';
    expect(contracts).toEqual([
      expect.objectContaining({
        ...{ address: other, state },
        reason: 'its coin is BTC of 8 decimals, and that of other contracts BTC of 18 decimals',
      }),
      expect.objectContaining({
        ...{ address: unsaid, state },
        reason: 'it names no token by token() or asset()',
      }),
    ]);
  });

  it('is examined before it is followed, and has to take the coin', async () => {
    const of = { rpcUrl: bench.anvil.url, address: box, from: 0, adapter: adapterOf(new CoinAdapter()) };
    const { lines, fits } = await adapterReport({ ...of, abi: CoinBox.abi });
    expect(lines).toContain(`token: ${NATIVE_COIN} BTC, 18 decimals`);
    expect(fits).toBe(true);
    const refusing = parseAbi(['function putIn()', 'function takeOut(uint256 amount)', ...VIEW]);
    expect((await adapterReport({ ...of, abi: [...abi, ...refusing] })).lines).toContain(
      'WRONG: deposit: putIn() is not payable',
    );
  });

  it('is paid in one call with its value, by the client too', async () => {
    const { body } = await app.get(`/pools/${pool.id}/calls/deposit?transaction=${pool.depositId}`, saver);
    expect(body.data.calls).toEqual([
      {
        name: 'deposit',
        chainId: 31337,
        to: box,
        data: expect.stringMatching('^0x[0-9a-f]{8}$'),
        value: TEN,
      },
    ]);
    const costs: unknown[] = [];
    const receipts = await client.pay(
      { kind: 'deposit', pool: pool.id, depositId: pool.depositId },
      { wallet, onChange: ({ cost }) => costs.push(cost) },
    );
    expect([receipts.length, costs.at(-1)]).toEqual([1, TEN]);
    expect(await bench.owner.getBalance({ address: box })).toBe(BigInt(TEN));
    await client.transactions.confirmed(pool.depositId);
    expect(await position()).toMatchObject({ balance: TEN, deposited: TEN, claimable: null });
    await client.pay({ kind: 'withdraw', pool: pool.id, amount: 7n }, { wallet });
    expect(await position()).toMatchObject({ balance: `${BigInt(TEN) - 7n}`, withdrawn: '7' });
  });

  it('is paid again after another payment of the same call, which has another value', async () => {
    const held = (): Promise<bigint> => bench.owner.getBalance({ address: box });
    const before = await held();
    const end = new AbortController();
    // The wallet never says what became of it.
    wallet.answers.eth_sendTransaction = () => {
      end.abort(new Error('left'));
      return new Promise(() => undefined);
    };
    const left = client.pay({ kind: 'deposit', pool: pool.id, amount: 500n }, { wallet, signal: end.signal });
    await expect(left).rejects.toThrow('left');
    delete wallet.answers.eth_sendTransaction;
    const data = encodeFunctionData({ abi: CoinBox.abi, functionName: 'putIn' });
    await receiptOf(bench.saver, await bench.saver.sendTransaction({ to: box, data, value: 200n }));
    const [{ id }] = await client.payments.list();
    await client.payments.resume(id, { wallet });
    expect(await held()).toBe(before + 700n);
    await client.pay({ kind: 'withdraw', pool: pool.id, amount: 700n }, { wallet });
  });

  it('is not paid by a call that it refuses, nor without the coin for it', async () => {
    const tooLittle = await app.get(`/pools/${pool.id}/calls/deposit?amount=99`, saver);
    expect(tooLittle.body.code).toBe('contract_refuses');
    const { address } = bench.saver.account;
    const before = await bench.owner.getBalance({ address });
    await bench.rpc('anvil_setBalance', address, toHex(BigInt(TEN)));
    const asked = wallet.asked.length;
    const missing = { code: 'insufficient_ether', balance: BigInt(TEN) };
    await expect(client.checkPayment({ wallet, amount: TEN, contract: box })).rejects.toMatchObject(missing);
    const paid = client.pay({ kind: 'deposit', pool: pool.id, amount: TEN }, { wallet });
    await expect(paid).rejects.toMatchObject(missing);
    expect(wallet.asked.slice(asked)).not.toContain('eth_sendTransaction');
    await bench.rpc('anvil_setBalance', address, toHex(before));
  });

  it('is verified, also across a reorganisation, and in no sum with tokens', async () => {
    await call(bench.saver, { ...CoinBox, address: box }, 'takeOut', 3n);
    await bench.atHead();
    await bench.rpc('anvil_reorg', 1, []);
    expect(await position()).toMatchObject({ balance: `${BigInt(TEN) - 7n}` });
    const { otherTokens, totalDeposits } = (await app.get('/analytics/pools', saver)).body.data;
    expect([totalDeposits, otherTokens]).toEqual([
      '0',
      [expect.objectContaining({ token: NATIVE_COIN, ...COIN, totalDeposits: `${BigInt(TEN) + 700n}` })],
    ]);
    const { listed, checked } = await operators.verify();
    expect(listed).toEqual([]);
    expect(checked['chain.balance']).toBeGreaterThan(0);
  });
});
