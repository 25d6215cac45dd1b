import { setTimeout as delay } from 'node:timers/promises';
import {
  createWalletClient,
  defineChain,
  http,
  maxUint256,
  parseEther,
  publicActions,
  toHex,
  TransactionReceiptNotFoundError,
  WaitForTransactionReceiptTimeoutError,
  type Abi,
  type Address,
  type Hash,
  type Hex,
  type LocalAccount,
  type TransactionReceipt,
} from 'viem';
import { mnemonicToAccount } from 'viem/accounts';
import { POOL_TYPES, type PoolType } from '#values/types';
import { rpcEndpoints } from '#ledger/chain/endpoints';
import artifactsJson from '../../contracts/artifacts.json';

export type ContractName =
  | ('SavingsPool' | 'LotteryPool' | 'RotatingPool' | 'TestToken')
  | ('TestVault' | 'AccountSavings' | 'Clubs' | 'Kitty');
export const artifacts = artifactsJson as unknown as Record<ContractName, { abi: Abi; bytecode: Hex }>;

/** Third-party contracts, which hold the pools that ask for them, by what POOL_CONTRACTS calls them. */
export const FURTHER: Record<string, ContractName> = {
  'individual:erc4626+': 'TestVault',
  'individual:accounts+': 'AccountSavings',
  'cooperative:clubs+': 'Clubs',
};

export interface Deployment {
  token: Address;
  /** By pool type. */
  contracts: Record<PoolType, Address>;
  /** No event of these contracts is in an earlier block. */
  startBlock: number;
  genesisHash: Hash;
}

/** What the chain of `npm start` has: those of `FURTHER`, too. */
export type LocalDeployment = Deployment & { further: Record<string, Address> };

/** As POOL_CONTRACTS expects it: new pools get the contract of their type, or a third-party one that they ask for. */
export const poolContracts = ({ contracts, further }: LocalDeployment): string =>
  Object.entries({ ...contracts, ...further })
    .map((pair) => pair.join('='))
    .join(',');

export type DevClient = Awaited<ReturnType<typeof connect>>;

/** The reference contract of each pool type. */
const CONTRACT_OF: Record<PoolType, ContractName> = {
  individual: 'SavingsPool',
  cooperative: 'SavingsPool',
  lottery: 'LotteryPool',
  rotating: 'RotatingPool',
};

/** The accounts every anvil, hardhat and ganache funds: their keys are public. */
const MNEMONIC = 'test test test test test test test test test test test junk';
const TICKETS = [5n, 3n, 2n];
const GIFT = parseEther('25');
/** One block for each of five transactions, and some more for a chain that mines by itself meanwhile. */
const FINISHED_DRAW_BLOCKS = 20;
const OPEN_DRAW_SECONDS = 7 * 86_400;
const RECEIPT_TIMEOUT_MS = 60_000;
/** The default smallest deposit: small beside a pool's first deposit of 10 tokens, too much to send as dust. */
const MINIMUM_DEPOSIT = parseEther('0.01');

export function devAccount(index: number): LocalAccount {
  return mnemonicToAccount(MNEMONIC, { addressIndex: index });
}

/** The account that `npm start` offers for trying out, apart from those that own contracts and hold tickets. */
export function devKey(): { address: Address; privateKey: Hex } {
  const { address, getHdKey } = mnemonicToAccount(MNEMONIC, { addressIndex: 4 });
  return { address, privateKey: toHex(getHdKey().privateKey!) };
}

/** A client that reads and writes. It polls fast, for local chains, and uses the first of several endpoints. */
export async function connect(rpcUrl: string, account: LocalAccount = devAccount(0)) {
  const [{ url, headers }] = rpcEndpoints(rpcUrl);
  const transport = http(url, { fetchOptions: { headers } });
  const options = { account, transport, pollingInterval: 20 };
  const id = await createWalletClient(options).getChainId();
  const nativeCurrency = { name: 'Ether', symbol: 'ETH', decimals: 18 };
  const chain = defineChain({ id, name: 'local', nativeCurrency, rpcUrls: { default: { http: [url] } } });
  return createWalletClient({ ...options, chain }).extend(publicActions);
}

/** Sends a call and waits until it is mined. A revert throws with the contract's reason. */
export async function execute(
  client: DevClient,
  contract: ContractName,
  address: Address,
  functionName: string,
  args: unknown[] = [],
): Promise<TransactionReceipt> {
  const call = { abi: artifacts[contract].abi, address, functionName, args };
  // Some more than the estimate, as wallets give: what is written can cost more a second later.
  const gas = ((await client.estimateContractGas(call)) * 5n) / 4n;
  return mined(client, await client.writeContract({ ...call, gas }));
}

export async function deploy(
  client: DevClient,
  contract: { abi: Abi; bytecode: Hex },
  args: unknown[] = [],
): Promise<{ address: Address; blockNumber: bigint }> {
  const receipt = await mined(client, await client.deployContract({ ...contract, args }));
  return { address: receipt.contractAddress!, blockNumber: receipt.blockNumber };
}

async function mined(client: DevClient, hash: Hash): Promise<TransactionReceipt> {
  const receipt = await receiptOf(client, hash);
  if (receipt.status !== 'success') throw new Error(`transaction ${hash} reverted`);
  return receipt;
}

/**
 * Asks for the receipt until it is there. viem's `waitForTransactionReceipt` asks once for each block; if the receipt
 * is there only after the number of its block, it waits for a next block, which does not come on a quiet chain.
 * @throws WaitForTransactionReceiptTimeoutError after a minute
 */
export async function receiptOf(client: DevClient, hash: Hash): Promise<TransactionReceipt> {
  const end = Date.now() + RECEIPT_TIMEOUT_MS;
  for (;;) {
    try {
      return await client.getTransactionReceipt({ hash });
    } catch (error) {
      if (!(error instanceof TransactionReceiptNotFoundError)) throw error;
      if (Date.now() > end) throw new WaitForTransactionReceiptTimeoutError({ hash });
      await delay(client.pollingInterval);
    }
  }
}

/**
 * Deploys the play token and a contract for every pool type.
 * @param minimumDeposit in smallest token units
 */
export async function deployContracts(
  rpcUrl: string,
  { minimumDeposit = MINIMUM_DEPOSIT }: { minimumDeposit?: bigint } = {},
): Promise<Deployment> {
  const client = await connect(rpcUrl);
  const genesis = await client.getBlock({ blockNumber: 0n });
  const { address: token } = await deploy(client, artifacts.TestToken);
  // One after another, here and below: transactions sent in parallel can stall on anvil.
  const contracts: Partial<Deployment['contracts']> = {};
  let first: bigint | undefined;
  for (const type of POOL_TYPES) {
    const name = CONTRACT_OF[type];
    // Contracts of circles have no owner.
    const owner = name === 'RotatingPool' ? [] : [client.account.address];
    const args = [token, ...owner, minimumDeposit];
    const { address, blockNumber } = await deploy(client, artifacts[name], args);
    contracts[type] = address;
    first ??= blockNumber;
  }
  return {
    token,
    contracts: contracts as Deployment['contracts'],
    startBlock: Number(first),
    genesisHash: genesis.hash,
  };
}

/**
 * Creates a finished draw with its prize paid out, and an open one, both with tickets of three accounts. Needs anvil,
 * and no open draw. Block times run some seconds ahead of the clock until it catches up.
 */
export async function seedDraws(
  rpcUrl: string,
  { token, contracts: { lottery } }: Deployment,
): Promise<{ finished: bigint; open: bigint }> {
  const owner = await connect(rpcUrl);
  const buyers = await Promise.all(TICKETS.map((_, index) => connect(rpcUrl, devAccount(index + 1))));
  for (const client of [owner, ...buyers]) await fund(client, token, lottery, parseEther('1000'));

  const run = (client: DevClient, name: string, ...args: bigint[]) =>
    execute(client, 'LotteryPool', lottery, name, args);
  const open = async (seconds: number): Promise<bigint> => {
    const { timestamp } = await owner.getBlock();
    await run(owner, 'openDraw', parseEther('1'), timestamp + BigInt(seconds));
    const drawId = await read<bigint>(owner, 'LotteryPool', lottery, 'currentDraw');
    for (const [index, buyer] of buyers.entries()) await run(buyer, 'buyTickets', drawId, TICKETS[index]);
    await run(owner, 'fundPrize', drawId, GIFT);
    return drawId;
  };
  // One second per block instead of a jump of the clock, which anvil would keep.
  await anvilRpc(owner, 'anvil_setBlockTimestampInterval', 1);
  const finished = await open(FINISHED_DRAW_BLOCKS);
  await anvilRpc(owner, 'anvil_mine', toHex(FINISHED_DRAW_BLOCKS));
  await run(owner, 'closeDraw', finished);
  await anvilRpc(owner, 'anvil_mine', toHex(2));
  await run(owner, 'completeDraw', finished);
  await run(owner, 'claimPrize', finished);
  await anvilRpc(owner, 'anvil_removeBlockTimestampInterval');
  return { finished, open: await open(OPEN_DRAW_SECONDS) };
}

/** Mints play money to the client's account and lets a contract take it. */
export async function fund(
  client: DevClient,
  token: Address,
  spender: Address,
  amount: bigint,
): Promise<void> {
  await execute(client, 'TestToken', token, 'mint', [client.account.address, amount]);
  await execute(client, 'TestToken', token, 'approve', [spender, maxUint256]);
}

export async function read<T>(
  client: DevClient,
  contract: ContractName,
  address: Address,
  functionName: string,
  args: unknown[] = [],
): Promise<T> {
  return (await client.readContract({ abi: artifacts[contract].abi, address, functionName, args })) as T;
}

/** Calls one of anvil's own methods, which viem's types do not list. */
export async function anvilRpc(client: DevClient, method: string, ...params: unknown[]): Promise<unknown> {
  return client.request({ method, params } as never);
}
