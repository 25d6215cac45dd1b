import type { Address } from 'viem';
import { bytes16 } from '#values/bytes16';
import { deployContracts, execute, fund } from '#dev/deploy';
import { type SignedIn, TEN, until } from '../support/app';
import { useService } from '../support/chain/chain-bench';

const ten = BigInt(TEN);

/** Events on a real chain, as the API shows them afterwards. */
describe('the indexer', () => {
  const { bench, app, signIn } = useService();
  let saver: SignedIn;
  beforeAll(async () => {
    saver = await signIn(1);
    await bench.follow();
  });

  /** A pool with its first deposit pending. */
  async function newPool(): Promise<{ id: string; ref: string }> {
    const { id } = await app.createPool(saver, { type: 'cooperative' });
    const { body } = await app.get(`/transactions?poolId=${id}`, saver);
    return { id, ref: body.data[0].id };
  }
  const detail = async (hash: string): Promise<any> =>
    (await app.get(`/transactions/${hash}`, saver)).body.data;
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

  it('fills in the gas of the receipt, however busy the chain is', async () => {
    const { id } = await newPool();
    const { transactionHash, gasUsed, effectiveGasPrice } = await bench.deposit(id, 3n);
    await bench.whileBusy(until(async () => (await detail(transactionHash))?.gasUsed != null));
    expect(await detail(transactionHash)).toMatchObject({
      gasUsed: `${gasUsed}`,
      gasPrice: `${effectiveGasPrice}`,
    });
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
