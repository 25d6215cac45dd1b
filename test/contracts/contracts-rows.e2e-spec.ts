import type { Address } from 'viem';
import { deploy, execute, receiptOf } from '#dev/deploy';
import { compile } from '../../scripts/compile-contracts';
import { ContractBench, OTHER_POOL, POOL, revertOf } from '../support/chain/contracts';

/** What contracts/README.md says that an event, which is a row of an indexer, costs its author: gas, and what is gone. */
const TIMES = 100;
const MINIMUM = 1000n;
let t: ContractBench;
let writer: Address;
const contract = compile(['test/support/solidity/RowWriter.sol']).RowWriter;

beforeAll(async () => {
  t = await ContractBench.start();
  await t.newPool(MINIMUM);
  writer = (await deploy(t.owner, contract, [t.pool])).address;
  await execute(t.owner, 'TestToken', t.token, 'mint', [writer, 10n ** 24n]);
});
afterAll(() => t?.anvil.stop());

/** @returns gas for each event */
async function write(name: string, ...args: unknown[]): Promise<number> {
  const { abi } = contract;
  const hash = await t.bob.writeContract({
    abi,
    address: writer,
    functionName: name,
    args,
    gas: 25_000_000n,
  });
  const { gasUsed, status, logs } = await receiptOf(t.owner, hash);
  expect(status).toBe('success');
  const events = logs.filter(({ address }) => address === t.pool.toLowerCase()).length;
  return Math.round(Number(gasUsed) / events);
}

it.each([
  ['deposits', 15_400],
  ['inAndOut', 16_800],
  ['withdrawals', 11_400],
  ['inManyPools', 96_000],
  ['inManyPools', 27_800],
])('of %s an event costs its author %i gas', async (name, least) => {
  const perEvent = await write(name, name === 'inManyPools' ? 1n : POOL, TIMES);
  expect([perEvent >= least, perEvent < 1.02 * least, perEvent]).toEqual([true, true, perEvent]);
});

it('money that was paid in comes back', async () => {
  await write('deposits', OTHER_POOL, TIMES);
  const before = await t.tokens(writer);
  await write('withdrawals', OTHER_POOL, TIMES);
  expect((await t.tokens(writer)) - before).toBe(BigInt(TIMES) * MINIMUM);
});

it('of tickets and gifts an event costs gas and money, which comes back only from a cancelled draw', async () => {
  const drawId = await t.openDraw();
  const perTicket = await write('tickets', drawId, TIMES);
  const perGift = await write('gifts', drawId, TIMES);
  expect([perTicket >= 20_100, perGift >= 11_900, perTicket, perGift]).toEqual([
    true,
    true,
    perTicket,
    perGift,
  ]);
});

it('a pool is named once in a call of many deposits', async () => {
  const ids = Array<string>(1000).fill(POOL);
  const call = t.call(t.bob, 'depositMany', ids, ids, Array<bigint>(1000).fill(MINIMUM));
  expect(await revertOf(call)).toBe('PoolsNotAscending');
});
