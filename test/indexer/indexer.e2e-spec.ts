import { type Address, encodeFunctionData, parseEther } from 'viem';
import { bytes16 } from '#values/bytes16';
import { artifacts, deploy, deployContracts, execute, fund, receiptOf } from '#dev/deploy';
import { compile } from '../../scripts/compile-contracts';
import { type SignedIn, TEN, until } from '../support/app';
import { useService } from '../support/chain/chain-bench';

const { ContractWallet } = compile(['test/support/solidity/Emitter.sol']);
const NO_REF = bytes16('0'.repeat(32));
const ten = BigInt(TEN);

/** Events on a real chain, as the API shows them afterwards. */
describe('the indexer', () => {
  const { bench, app, signIn } = useService();
  let [saver, other]: SignedIn[] = [];
  beforeAll(async () => {
    [saver, other] = [await signIn(1), await signIn(2)];
    await bench.follow();
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

  it('adds a deposit that nobody announced, and leaves one of another account pending', async () => {
    const { id, ref } = await newPool();
    const { transactionHash } = await bench.deposit(id, ten, ref, bench.other);
    await bench.atHead();
    expect(await ledger(id)).toEqual([`CONFIRMED ${TEN}`, `PENDING ${TEN}`]);
    expect(await detail(transactionHash)).toMatchObject({ from: other.address, amount: TEN });
    expect(await balance(id)).toBe(`${2n * ten}`);
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
    await bench.whileBusy(until(async () => (await detail(transactionHash))?.gasUsed != null));
    expect(await detail(transactionHash)).toMatchObject({
      gasUsed: `${gasUsed}`,
      gasPrice: `${effectiveGasPrice}`,
    });
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
});
