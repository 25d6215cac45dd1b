import type { Address } from 'viem';
import { type DevClient, deploy, execute, receiptOf } from '#dev/deploy';
import { compile } from '../../scripts/compile-contracts';
import { CONTRIBUTION, CircleBench, DAY } from '../support/circles/circles';

/** What contracts/README.md says that an event of a circle costs its author in gas: the cheapest way for each. */
const MEMBERS = 32;
let t: CircleBench;
let client: DevClient;
let writer: Address;
const { CircleWriter } = compile(['test/support/solidity/CircleWriter.sol']);

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

/** @returns gas for each event */
async function write(functionName: string, ...args: unknown[]): Promise<number> {
  const call = { abi: CircleWriter.abi, address: writer, functionName, args, gas: 25_000_000n };
  const { gasUsed, status, logs } = await receiptOf(client, await client.writeContract(call));
  expect(status).toBe('success');
  return Math.round(Number(gasUsed) / logs.filter(({ address }) => address === t.pool.toLowerCase()).length);
}

const near = (found: number, told: number): void =>
  expect([found >= told, found < 1.02 * told, found]).toEqual([true, true, found]);

it('of opening a circle, for each of its 33 events', async () =>
  near(await write('open', CONTRIBUTION, 0n), 53_600));
it('of joining without collateral', async () => {
  await write('open', CONTRIBUTION, 0n);
  near(await write('joins', await t.view('circles')), 20_500);
});
it('of a contribution', async () => near(await write('contributions', 1n), 34_500));
it('of a round that collaterals pay', async () => {
  await write('end', 1n);
  await t.passTime(DAY);
  near(await write('end', 1n), 11_700);
});
