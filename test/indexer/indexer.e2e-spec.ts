import { randomUUID } from 'node:crypto';
import { type Address, encodeFunctionData, maxUint256, parseEther } from 'viem';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import pino from 'pino';
import { bytes16 } from '#values/bytes16';
import { createIndexer } from '#indexer/indexer.setup';
import { IndexerTelemetry } from '#indexer/reporting/telemetry';
import { artifacts, deploy, deployContracts, devAccount, execute, fund, receiptOf } from '#dev/deploy';
import { compile } from '../../scripts/compile-contracts';
import { type SignedIn, TEN, TestApp, indexerSettings } from '../support/app';
import { ChainBench, eventually } from '../support/chain/chain-bench';
import type { Wallet } from '../support/wallet';

const { Emitter, ContractWallet } = compile(['test/support/solidity/Emitter.sol']);
const NO_REF = bytes16('0'.repeat(32));
const ten = BigInt(TEN);

/** Events on a real chain, as the API shows them afterwards. */
describe('the indexer', () => {
  const bench = new ChainBench();
  const app = new TestApp();
  let saver: SignedIn;
  let other: SignedIn;
  let emitter: Address;
  let indexer: NestFastifyApplication;

  async function start(overrides: NodeJS.ProcessEnv = {}): Promise<void> {
    const environment = indexerSettings(app.database.url, { ...bench.settings(), ...overrides });
    indexer = await createIndexer(environment, pino({ level: 'silent' }));
  }

  beforeAll(async () => {
    await app.start({}, undefined, async (database) => {
      await bench.start(database);
      ({ address: emitter } = await deploy(bench.owner, Emitter));
      bench.deployment.contracts.rotating = emitter;
      return bench.settings();
    });
    [saver, other] = [
      await app.signIn(devAccount(1) as unknown as Wallet),
      await app.signIn(devAccount(2) as unknown as Wallet),
    ];
    await start();
  });
  afterAll(async () => {
    await indexer?.close();
    await bench.stop();
    await app.stop();
  });

  /** A pool with its first deposit pending. */
  async function newPool(
    as: SignedIn = saver,
    fields: Record<string, unknown> = {},
  ): Promise<{ id: string; ref: string }> {
    const { id } = await app.createPool(as, { type: 'cooperative', ...fields });
    const { body } = await app.get(`/transactions?poolId=${id}`, as);
    return { id, ref: body.data[0].id };
  }
  const detail = async (hash: string, as = saver): Promise<any> =>
    (await app.get(`/transactions/${hash}`, as)).body.data;
  const balance = async (id: string, as = saver): Promise<string> =>
    (await app.get(`/pools/${id}`, as)).body.data.balance;
  /** Status and amount of a pool's transactions, in alphabetical order. */
  const ledger = async (id: string): Promise<string[]> =>
    (await app.get(`/transactions?poolId=${id}`, saver)).body.data
      .map(({ status, amount }: { status: string; amount: string }) => `${status} ${amount}`)
      .sort();
  const anomalies = async (kind: string): Promise<number> => {
    const { values } = await indexer.get(IndexerTelemetry).anomalies.get();
    return values.find(({ labels }) => labels.kind === kind)?.value ?? 0;
  };
  /** They are counted once the commit has been answered. */
  const counted = (kind: string, count: number): Promise<unknown> =>
    eventually(
      `anomalies: ${kind}`,
      () => anomalies(kind),
      (found) => found === count,
    );
  const emit = (name: string, pool: string, amount: bigint): Promise<unknown> =>
    bench.owner
      .writeContract({
        abi: Emitter.abi,
        address: emitter,
        functionName: name,
        args: [bytes16(pool), NO_REF, saver.address, amount],
      })
      .then((hash) => receiptOf(bench.owner, hash));

  it('confirms the deposit whose reference the event carries', async () => {
    const { id } = await newPool();
    const second = await bench.pending(id, ten);
    const { transactionHash } = await bench.deposit(id, ten, second);
    await bench.atHead();
    expect(await ledger(id)).toEqual([`CONFIRMED ${TEN}`, `PENDING ${TEN}`]);
    expect(await detail(transactionHash)).toMatchObject({
      id: second,
      from: saver.address,
      status: 'CONFIRMED',
    });
  });

  it('confirms the oldest of equal deposits when the event has no reference', async () => {
    const { id, ref } = await newPool();
    await bench.pending(id, ten);
    const { transactionHash } = await bench.deposit(id, ten);
    await bench.atHead();
    expect((await detail(transactionHash)).id).toBe(ref);
    expect(await ledger(id)).toEqual([`CONFIRMED ${TEN}`, `PENDING ${TEN}`]);
  });

  it("takes the chain's amount where it differs, and counts that", async () => {
    const { id, ref } = await newPool();
    const before = await anomalies('amount');
    await bench.deposit(id, ten + 5n, ref);
    await bench.atHead();
    expect(await ledger(id)).toEqual([`CONFIRMED ${ten + 5n}`]);
    expect(await balance(id)).toBe(`${ten + 5n}`);
    await counted('amount', before + 1);
  });

  it('adds a deposit that nobody announced, and leaves one of another account pending', async () => {
    const { id, ref } = await newPool();
    const { transactionHash } = await bench.deposit(id, ten, ref, bench.other);
    await bench.atHead();
    expect(await ledger(id)).toEqual([`CONFIRMED ${TEN}`, `PENDING ${TEN}`]);
    expect(await detail(transactionHash)).toMatchObject({ from: other.address, amount: TEN });
    expect(await balance(id)).toBe(`${2n * ten}`);
  });

  it('keeps events of an unknown pool until the pool appears', async () => {
    const [id, before] = [randomUUID(), await anomalies('unknown_pool')];
    await bench.deposit(id, 77n);
    await bench.atHead();
    await counted('unknown_pool', before + 1);
    await bench.addPool(id);
    await eventually(
      'the deposit',
      () => balance(id),
      (found) => found === '77',
    );
  });

  it('ignores foreign contracts, and refuses events of a pool from another of its own', async () => {
    const { id, ref } = await newPool();
    const foreign = await deployContracts(bench.anvil.url);
    const send = async (token: Address, contract: Address): Promise<void> => {
      await fund(bench.saver, token, contract, ten);
      await execute(bench.saver, 'SavingsPool', contract, 'deposit', [bytes16(id), bytes16(ref), ten]);
    };
    await send(foreign.token, foreign.contracts.cooperative);
    await send(bench.deployment.token, bench.deployment.contracts.individual);
    await bench.atHead();
    expect(await ledger(id)).toEqual([`PENDING ${TEN}`]);
    const kept = await bench.sql('SELECT contract, outcome FROM chain_events WHERE ref = $1', [ref]);
    expect(kept).toEqual([
      { contract: bench.deployment.contracts.individual.toLowerCase(), outcome: 'REFUSED' },
    ]);
  });

  it('of several events in one transaction gives the first that the caller may see', async () => {
    const [first, second, shared] = [
      await newPool(other),
      await newPool(),
      await newPool(other, { members: [saver.address] }),
    ];
    const ids = [first, second, shared].map(({ id }) => bytes16(id));
    const { transactionHash: hash } = await bench.call(bench.saver, 'depositMany', [
      ids,
      ids.map(() => NO_REF),
      [1n, 2n, 3n],
    ]);
    await bench.atHead();
    // The first was paid into another owner's pool, but the payer may see it.
    expect(await detail(hash, saver)).toMatchObject({ poolId: first.id, amount: '1' });
    expect((await app.get(`/transactions?poolId=${first.id}`, saver)).body).toMatchObject({
      data: [{ amount: '1' }],
      pagination: { total: 1 },
    });
    expect((await app.get(`/pools/${first.id}`, saver)).status).toBe(403);
    expect((await app.get(`/transactions?poolId=${second.id}`, other)).status).toBe(403);
    expect(await detail(hash, other)).toMatchObject({ poolId: first.id, amount: '1' });
    expect((await app.get(`/transactions/${hash}`, await app.signIn())).status).toBe(403);
  });

  it('keeps a withdrawal beyond the balance unapplied, and applies the next one', async () => {
    const { id } = await newPool(saver, { type: 'rotating' });
    const before = await anomalies('overdraw');
    await emit('deposited', id, ten);
    await emit('withdrawn', id, ten + 1n);
    await emit('withdrawn', id, ten - 1n);
    await bench.atHead();
    await counted('overdraw', before + 1);
    expect(await ledger(id)).toEqual([`CONFIRMED ${TEN}`, `CONFIRMED ${ten - 1n}`]);
    expect(await balance(id)).toBe('1');
  });

  it('carries amounts up to 2^256-1, and sums beyond', async () => {
    const { id } = await newPool(saver, { type: 'rotating' });
    for (let i = 0; i < 3; i += 1) await emit('deposited', id, maxUint256);
    await emit('withdrawn', id, maxUint256);
    await bench.atHead();
    const most = `CONFIRMED ${maxUint256}`;
    expect(await ledger(id)).toEqual([most, most, most, most, `PENDING ${TEN}`]);
    expect(await balance(id)).toBe(`${ten + 2n * maxUint256}`);
  });

  it('takes a wallet that is a contract for the depositor, not the sender of the transaction', async () => {
    const { id } = await newPool();
    const { address: wallet } = await deploy(bench.owner, ContractWallet);
    const { token, contracts } = bench.deployment;
    await execute(bench.owner, 'TestToken', token, 'mint', [wallet, 9n]);
    const act = async (
      to: Address,
      name: 'TestToken' | 'SavingsPool',
      functionName: string,
      args: unknown[],
    ) => {
      const data = encodeFunctionData({ abi: artifacts[name].abi, functionName, args });
      const call = { abi: ContractWallet.abi, address: wallet, functionName: 'execute', args: [to, data] };
      return receiptOf(bench.owner, await bench.owner.writeContract(call));
    };
    await act(token, 'TestToken', 'approve', [contracts.cooperative, 9n]);
    const { transactionHash } = await act(contracts.cooperative, 'SavingsPool', 'deposit', [
      bytes16(id),
      NO_REF,
      9n,
    ]);
    await bench.atHead();
    expect(await detail(transactionHash)).toMatchObject({ from: wallet.toLowerCase(), amount: '9' });
  });

  it('fills in the gas of the receipt, however busy the chain is', async () => {
    const { id } = await newPool();
    const { transactionHash, gasUsed, effectiveGasPrice } = await bench.deposit(id, 3n);
    const found = await bench.whileBusy(
      eventually(
        'gas',
        () => detail(transactionHash),
        (transaction) => transaction?.gasUsed != null,
      ),
    );
    expect(found).toMatchObject({ gasUsed: `${gasUsed}`, gasPrice: `${effectiveGasPrice}` });
  });

  it('lets deposits expire by block time, and confirms one that comes late', async () => {
    const { id } = await newPool();
    const late = await bench.pending(id, 5n, 86_400 + 60);
    await bench.mine(1);
    await bench.atHead();
    expect(await ledger(id)).toEqual(['EXPIRED 5', `PENDING ${TEN}`]);
    expect(await balance(id)).toBe(TEN);
    await bench.deposit(id, 5n, late);
    await bench.atHead();
    expect(await ledger(id)).toEqual(['CONFIRMED 5', `PENDING ${TEN}`]);
    expect(await balance(id)).toBe(`${ten + 5n}`);
  });

  it('follows a draw to its winner, and one that is cancelled', async () => {
    const current = async (): Promise<any> => {
      await bench.atHead();
      const { status, body } = await app.get('/lottery/current', saver);
      return status === 200 ? body.data : status;
    };
    const open = async (): Promise<bigint> => {
      const { timestamp } = await bench.owner.getBlock();
      await bench.lottery(bench.owner, 'openDraw', [parseEther('2'), timestamp + 20n]);
      const draw = await bench.currentDraw();
      await bench.lottery(bench.saver, 'buyTickets', [draw, 3n]);
      await bench.lottery(bench.other, 'buyTickets', [draw, 2n]);
      return draw;
    };
    // One second per block instead of waiting for the draw time.
    await bench.rpc('anvil_setBlockTimestampInterval', 1);
    const draw = await open();
    const prizePool = parseEther('10').toString();
    expect(await current()).toMatchObject({ drawId: Number(draw), status: 'ACTIVE', participants: 2, totalTickets: 5, prizePool }); // prettier-ignore
    await bench.mine(20);
    await bench.lottery(bench.owner, 'closeDraw', [draw]);
    expect(await current()).toMatchObject({ drawId: Number(draw), status: 'DRAWING', prizePool });
    await bench.mine(2);
    await bench.lottery(bench.owner, 'completeDraw', [draw]);
    expect(await current()).toBe(404);
    const cancelled = await open();
    expect(await current()).toMatchObject({ drawId: Number(cancelled), status: 'ACTIVE' });
    await bench.lottery(bench.owner, 'cancelDraw', [cancelled]);
    await bench.rpc('anvil_removeBlockTimestampInterval');
    expect(await current()).toBe(404);
    const { data } = (await app.get('/lottery/winners', saver)).body;
    const tickets = data[0].winner === saver.address ? 3 : 2;
    expect([saver.address, other.address]).toContain(data[0].winner);
    expect(data).toMatchObject([{ drawId: Number(draw), prize: prizePool, tickets, totalTickets: 5 }]);
  });

  it('never shows half of a reorganisation', async () => {
    const { id } = await newPool();
    let reading = true;
    let hash: string | undefined;
    const statuses = new Set<number>();
    const reader = (async () => {
      for (let reads = 0; reading; reads += 1) {
        const { status, body } = await app.get(`/pools/${id}`, saver);
        expect(status).toBe(200);
        const deposits = body.data.transactions.map(({ amount }: { amount: string }) => BigInt(amount));
        expect(body.data.balance).toBe(
          `${deposits.reduce((sum: bigint, amount: bigint) => sum + amount, 0n)}`,
        );
        if (hash) statuses.add((await app.get(`/transactions/${hash}`, saver)).status);
      }
    })();
    for (let round = 0; round < 3; round += 1) {
      ({ transactionHash: hash } = await bench.deposit(id, BigInt(100 + round)));
      await bench.atHead();
      await bench.rpc('anvil_reorg', 1, []);
      await bench.atHead();
    }
    reading = false;
    await reader;
    expect(await ledger(id)).toEqual([`PENDING ${TEN}`]);
    for (const status of statuses) expect([200, 404]).toContain(status);
  });

  it('waits for CONFIRMATIONS before an event counts', async () => {
    await indexer.close();
    await start({ CONFIRMATIONS: '3' });
    const { id, ref } = await newPool();
    await bench.deposit(id, ten, ref);
    await bench.mine(2);
    await bench.atHead();
    expect(await ledger(id)).toEqual([`PENDING ${TEN}`]);
    await bench.mine(1);
    await bench.atHead();
    expect(await ledger(id)).toEqual([`CONFIRMED ${TEN}`]);
  });
});
