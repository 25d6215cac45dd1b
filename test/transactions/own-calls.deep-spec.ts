import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import pino from 'pino';
import { type Address, type Hex, maxUint256 } from 'viem';
import { type DevClient, artifacts, deploy, devAccount, receiptOf } from '#dev/deploy';
import { Refusals } from '#extensions/payments/refusals';
import { createIndexer } from '#indexer/indexer.setup';
import { compile } from '../../scripts/compile-contracts';
import { type SignedIn, TEN, TestApp, indexerSettings } from '../support/app';
import { ChainBench } from '../support/chain/chain-bench';
import { addPool, call } from '../support/chain/foreign-pools';
import type { Wallet } from '../support/wallet';

const compiled = compile(['test/support/solidity/Vaults.sol', 'test/support/solidity/Coin.sol']);

describe('calls of contracts that are not ours, as their adapters describe them', () => {
  const bench = new ChainBench();
  const app = new TestApp();
  let indexer: NestFastifyApplication;
  /** The vault's alone. */
  let coin: Address;
  let [vault, savings, clubs, limited]: Address[] = [];
  let saver: SignedIn;

  beforeAll(async () => {
    await app.start({}, undefined, async (database) => {
      await bench.start(database);
      const { token } = bench.deployment;
      coin = (await deploy(bench.owner, compiled.Coin, ['EURO', 6])).address.toLowerCase() as Address;
      vault = (await deploy(bench.owner, compiled.PlainVault, [coin, 0])).address.toLowerCase() as Address;
      savings = (
        await deploy(bench.owner, artifacts.AccountSavings, [token])
      ).address.toLowerCase() as Address;
      clubs = (await deploy(bench.owner, artifacts.Clubs, [token])).address.toLowerCase() as Address;
      limited = (await deploy(bench.owner, compiled.LimitedVault, [coin])).address.toLowerCase() as Address;
      const args = [token, bench.owner.account.address, 7n];
      bench.further.push(
        ['lottery+', (await deploy(bench.owner, artifacts.LotteryPool, args)).address],
        ['individual:accounts', savings],
        ['individual:erc4626', vault],
        ['cooperative:clubs', clubs],
        ['individual:erc4626+', limited],
      );
      return bench.settings();
    });
    indexer = await createIndexer(
      indexerSettings(app.database.url, bench.settings()),
      pino({ level: 'silent' }),
    );
    await bench.atHead();
    saver = await app.signIn(devAccount(1) as unknown as Wallet);
  });
  afterAll(async () => {
    await indexer?.close();
    await bench.stop();
    await app.stop();
  });

  interface Call {
    name: string;
    to: Address;
    data: Hex;
  }

  async function sent(client: DevClient, path: string, as: SignedIn): Promise<string[]> {
    const { status, body } = await app.get(`/pools/${path}`, as);
    expect([status, body.error]).toEqual([200, undefined]);
    const calls = body.data.calls as Call[];
    for (const { to, data } of calls) {
      const hash = await client.sendTransaction({ to, data, gas: 1_000_000n });
      expect((await receiptOf(client, hash)).status).toBe('success');
    }
    await bench.atHead();
    return calls.map(
      ({ name, to }) => `${name} ${to === bench.deployment.token.toLowerCase() ? 'token' : to}`,
    );
  }
  async function refused(path: string, as: SignedIn): Promise<[number, string]> {
    const { status, body } = await app.get(`/pools/${path}`, as);
    return [status, body.code as string];
  }
  async function statement(pool: string): Promise<string[]> {
    const { data } = (await app.get(`/transactions?poolId=${pool}&limit=100`, saver)).body;
    return (data as Record<string, string>[])
      .map(({ type, status, amount }) => `${type} ${status} ${amount}`)
      .sort();
  }

  it('are told by GET /config', async () => {
    const { contractCalls, contractMinimums } = (await app.get('/config')).body.data;
    // Those of new pools that ask for no contract.
    expect(contractMinimums.lottery).toBe('1');
    expect(contractCalls).toMatchObject({
      [savings]: ['claim', 'deposit', 'withdraw'],
      [vault]: ['deposit', 'withdraw'],
      [clubs]: ['claim', 'deposit', 'withdraw'],
      [bench.deployment.contracts.lottery.toLowerCase()]: ['deposit', 'withdraw', 'claim', 'compounding'],
    });
  });

  it('of savings of an account are for the owner of the pool alone', async () => {
    const pool = await addPool(bench, bench.saver, {
      type: 'individual',
      contract: savings,
      deposit: 500n,
    });
    await sent(bench.saver, `${pool}/calls/deposit?amount=500`, saver);
    const token = { ...compiled.Coin, address: bench.deployment.token };
    await call(bench.owner, token, 'approve', savings, maxUint256);
    await call(
      bench.owner,
      { ...artifacts.AccountSavings, address: savings },
      'reward',
      bench.saver.account.address,
      100n,
    );
    expect(await sent(bench.saver, `${pool}/calls/claim`, saver)).toEqual([`claimYield ${savings}`]);
    await sent(bench.saver, `${pool}/calls/withdraw?amount=120`, saver);
    expect(await statement(pool)).toEqual([
      'DEPOSIT CONFIRMED 500',
      'WITHDRAWAL CONFIRMED 120',
      'YIELD_CLAIM CONFIRMED 90',
    ]);
  });

  it('are not built where the contract would refuse them, which may not be what the wallet has', async () => {
    // A slow machine must not decide.
    app.nest.get(Refusals).nodeMs = 60_000;
    const pool = await addPool(bench, bench.saver, { type: 'individual', contract: limited });
    const tooMuch = `/pools/${pool}/calls/deposit?amount=101`;
    expect((await app.get(tooMuch, saver)).status).toBe(200);
    await call(bench.owner, { ...compiled.Coin, address: coin }, 'mint', bench.saver.account.address, 101n);
    const { status, body } = await app.get(tooMuch, saver);
    expect([status, body.code]).toEqual([409, 'contract_refuses']);
    expect(body.details).toEqual([
      {
        field: 'calls',
        message: expect.stringMatching(/^deposit: ERC4626ExceededMaxDeposit\(0x\w+, 101, 100\)$/),
      },
    ]);
    expect((await app.get(`/pools/${pool}/calls/deposit?amount=100`, saver)).status).toBe(200);
  });

  it('of a pool with a number are known once the contract has told it', async () => {
    const { id, depositId } = await app.createPool(saver, { type: 'cooperative' });
    const deposit = `${id}/calls/deposit?transaction=${depositId}`;
    expect(await refused(deposit, saver)).toEqual([409, 'calls_unknown']);
    const club = { ...artifacts.Clubs, address: clubs };
    await call(bench.other, club, 'createPool', "somebody else's, which is the first");
    await call(bench.saver, club, 'createPool', 'the second');
    await bench.atHead();
    await sent(bench.saver, deposit, saver);
    expect(await statement(id)).toEqual([`DEPOSIT CONFIRMED ${TEN}`]);
    expect(
      await bench.owner.readContract({ ...club, functionName: 'shares', args: [2n, saver.address] }),
    ).toBe(BigInt(TEN));
    await sent(bench.saver, `${id}/calls/withdraw?amount=3`, saver);
    expect(await statement(id)).toEqual([`DEPOSIT CONFIRMED ${TEN}`, 'WITHDRAWAL CONFIRMED 3']);
  });
});
