import type { Abi, Address, Hex } from 'viem';
import { type DevClient, deploy, execute, receiptOf } from '#dev/deploy';
import { compile } from '../../scripts/compile-contracts';
import { ContractBench, POOL } from '../support/chain/contracts';
import { CONTRIBUTION, CircleBench, DAY } from '../support/circles/circles';

/** What contracts/README.md says that an event, which is a row of an indexer, costs its author: gas, and what is gone. */
const { RowWriter, CircleWriter } = compile([
  'test/support/solidity/RowWriter.sol',
  'test/support/solidity/CircleWriter.sol',
]);

/** @returns gas for each event of the pool that a call of the writer causes */
async function gasPerEvent(
  client: DevClient,
  pool: Address,
  writer: { abi: Abi; address: Address },
  functionName: string,
  args: unknown[],
): Promise<number> {
  const hash: Hex = await client.writeContract({ ...writer, functionName, args, gas: 25_000_000n });
  const { gasUsed, status, logs } = await receiptOf(client, hash);
  expect(status).toBe('success');
  return Math.round(Number(gasUsed) / logs.filter(({ address }) => address === pool.toLowerCase()).length);
}

/** The cheapest way for each event, which the document rounds down. */
const near = (found: number, documented: number): void =>
  expect([found >= documented, found < 1.02 * documented, found]).toEqual([true, true, found]);

describe('an event of savings and draws costs its author', () => {
  const TIMES = 100;
  const MINIMUM = 1000n;
  let t: ContractBench;
  let writer: Address;

  beforeAll(async () => {
    t = await ContractBench.start();
    await t.newPool(MINIMUM);
    writer = (await deploy(t.owner, RowWriter, [t.pool])).address;
    await execute(t.owner, 'TestToken', t.token, 'mint', [writer, 10n ** 24n]);
  });
  afterAll(() => t?.anvil.stop());

  const write = (name: string, ...args: unknown[]): Promise<number> =>
    gasPerEvent(t.bob, t.pool, { abi: RowWriter.abi, address: writer }, name, args);

  it.each([
    ['deposits', 15_400],
    ['inAndOut', 16_800],
    ['withdrawals', 11_400],
    ['inManyPools', 96_000],
    ['inManyPools', 27_800],
  ])('of %s %i gas', async (name, documented) =>
    near(await write(name, name === 'inManyPools' ? 1n : POOL, TIMES), documented),
  );

  it('of tickets and gifts gas, and money', async () => {
    const drawId = await t.openDraw();
    near(await write('tickets', drawId, TIMES), 20_100);
    near(await write('gifts', drawId, TIMES), 11_900);
  });
});

describe('an event of a circle of 32 costs its author', () => {
  const MEMBERS = 32;
  let t: CircleBench;
  let client: DevClient;
  let writer: Address;

  const write = (name: string, ...args: unknown[]): Promise<number> =>
    gasPerEvent(client, t.pool, { abi: CircleWriter.abi, address: writer }, name, args);

  beforeAll(async () => {
    t = await CircleBench.start(1);
    [client] = t.clients;
    await t.newPool();
    writer = (await deploy(client, CircleWriter, [t.pool, MEMBERS])).address;
    for (let i = 0; i < MEMBERS; i++) {
      const call = { abi: CircleWriter.abi, address: writer, functionName: 'puppets', args: [i] };
      await execute(client, 'TestToken', t.token, 'mint', [await client.readContract(call), 10n ** 9n]);
    }
    await write('open', CONTRIBUTION, BigInt(MEMBERS) * CONTRIBUTION);
    await write('joins', 1n);
  });
  afterAll(() => t?.anvil.stop());

  it('53,600 gas when it is opened', async () => near(await write('open', CONTRIBUTION, 0n), 53_600));
  it('20,500 gas when somebody joins without collateral', async () => {
    await write('open', CONTRIBUTION, 0n);
    near(await write('joins', await t.view('circles')), 20_500);
  });
  it('34,500 gas for a contribution', async () => near(await write('contributions', 1n), 34_500));
  it('11,700 gas in a round that collaterals pay', async () => {
    await write('end', 1n);
    await t.passTime(DAY);
    near(await write('end', 1n), 11_700);
  });
});
