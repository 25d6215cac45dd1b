import { Logger } from '@nestjs/common';
import { type Address, type Hex, parseEther, toHex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { PoolContracts } from '#ledger/chain/chain.settings';
import { Keeper } from '#keeper/keeper.service';
import { type KeeperState, KeeperTelemetry } from '#keeper/telemetry';
import { KeeperSettings } from '#settings/keeper.settings';
import { anvilRpc, deploy } from '#dev/deploy';
import { compile } from '../../../scripts/compile-contracts';
import { until, metricIn } from '../app';
import { ContractBench, HOUR, minedByHand } from './contracts';

/** Of the file that calls `useKeepers`. */
export let t: ContractBench;
/** Of an account that has one ether, a new one for each test. */
export let key: Hex;

/** The state of a draw. */
export const [COMPLETED, CANCELLED] = [3, 4];

/** A chain with a lottery, for keepers. */
export function useKeepers(): void {
  beforeAll(async () => {
    Logger.overrideLogger(false);
    t = await ContractBench.start();
  });
  beforeEach(async () => {
    await t.newPool();
    key = await fundedKey(parseEther('1'));
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(() => t?.anvil.stop());
}

export async function fundedKey(ether: bigint): Promise<Hex> {
  const made = generatePrivateKey();
  await anvilRpc(t.owner, 'anvil_setBalance', privateKeyToAccount(made).address, toHex(ether));
  return made;
}

/** Whether the node mines what it is sent: at once, but not before it answers. */
let isMining = true;
const waiting = async (): Promise<number> =>
  Number(((await anvilRpc(t.owner, 'txpool_status')) as { pending: Hex }).pending);

interface TestKeeper {
  /** What was sent is mined when it resolves, but for `withoutMining`. */
  round: () => Promise<KeeperState>;
  /** The value of the first metric that begins like this. */
  count: (line: string) => Promise<number>;
}

/** A keeper as a process of its own would be: what it knows it has from the chain. */
export function keeper(settings: Partial<KeeperSettings> = {}): TestKeeper {
  const telemetry = new KeeperTelemetry();
  const POOL_CONTRACTS = new PoolContracts([['lottery', [t.pool]]]);
  const given = { RPC_URL: t.anvil.url, KEEPER_KEY: key, POOL_CONTRACTS, ...settings };
  const service = new Keeper(Object.assign(new KeeperSettings(), given), telemetry);
  const count = async (line: string): Promise<number> => metricIn(await telemetry.registry.metrics(), line);
  const round = async (): Promise<KeeperState> => {
    const state = await service.round();
    if (isMining) await until(async () => (await waiting()) === 0);
    return state;
  };
  return { round, count };
}

export const addressOf = (of: Hex): Address => privateKeyToAccount(of).address;
export const transactions = (of: Hex = key): Promise<number> =>
  t.owner.getTransactionCount({ address: addressOf(of) });
export const status = async (): Promise<number> => {
  const { status: found } = await t.view<{ status: number }>('drawOf', await t.view('currentDraw'));
  return found;
};
export const succeeded = 'keeper_transactions_total{kind="complete_draw",outcome="succeeded"}';

/** A draw with a ticket that is closed. */
export async function closedDraw(): Promise<bigint> {
  const id = await t.openDraw();
  await t.call(t.alice, 'buyTickets', id, 1n);
  await t.passTime(HOUR);
  await t.call(t.owner, 'closeDraw', id);
  return id;
}

/** A closed draw whose deciding block is mined. */
export async function dueDraw(): Promise<void> {
  await closedDraw();
  await t.mine(2);
}

/** A contract that always wants something, followed beside the usual one. */
export async function endlessDraw(): Promise<{ address: Address; POOL_CONTRACTS: PoolContracts }> {
  const { EndlessDraw } = compile(['test/support/solidity/EndlessDraw.sol']);
  const { address } = await deploy(t.owner, EndlessDraw);
  return { address, POOL_CONTRACTS: new PoolContracts([['lottery', [address, t.pool]]]) };
}

/** The clock of this process goes on. */
export function later(ms: number): void {
  const now = Date.now;
  jest.spyOn(Date, 'now').mockImplementation(() => now() + ms);
}

/** Transactions wait until a block is mined by hand. */
export async function withoutMining(act: () => Promise<void>): Promise<void> {
  isMining = false;
  await minedByHand(t.owner, act).finally(() => (isMining = true));
}
