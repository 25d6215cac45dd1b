import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Client } from 'pg';
import {
  type Address,
  BaseError,
  ContractFunctionRevertedError,
  ContractFunctionZeroDataError,
  parseEther,
} from 'viem';
import { POOL_TYPES, TYPE_WITH_CIRCLES } from '#values/types';
import {
  type Deployment,
  type DevClient,
  type Further,
  anvilRpc,
  artifacts,
  connect,
  deploy,
  deployContracts,
  deployPool,
  devKey,
  execute,
  read,
  seedDraws,
} from './deploy';
import { FURTHER, FURTHER_NAMES } from './further';
import { type AnvilNode, AnvilUnavailable, startAnvil } from './anvil';
import { payExample } from './examples';
import { claimPort } from './ports';

/** Where wallets expect a local chain. */
const USUAL_PORT = 8545;

export interface LocalChain {
  url: string;
  chainId: number;
  deployment: Deployment;
  /** The chain of an earlier start was lost; this is a new one. */
  replaced: boolean;
  /** Whether it still has that block. A killed chain loses what it had not saved. */
  has(blockHash: string): Promise<boolean>;
  stop(): Promise<void>;
}

/**
 * Starts the EVM chain kept in `dir`, with the reference contracts and two draws on it.
 * @returns undefined where there is no anvil for the platform
 */
export async function startChain(
  dir: string,
  tell: (step: string) => void = () => undefined,
): Promise<LocalChain | undefined> {
  const file = path.join(dir, 'deployment.json');
  try {
    tell('Starting a chain');
    const anvil = await startOnKeptPort(dir);
    const client = await connect(anvil.url);
    await neverGoBack(client);
    const known = readDeployment(file);
    const kept = known && (await isOn(anvil.url, known));
    if (!kept) tell('Deploying the contracts');
    const deployed = kept ? await withCircles(client, known) : await deployContracts(anvil.url);
    if (!kept) {
      await execute(client, 'TestToken', deployed.token, 'mint', [devKey().address, parseEther('1025')]);
      await payExample(anvil.url, deployed);
      await seedDraws(anvil.url, deployed);
    }
    const deployment = await withFurther(client, deployed);
    if (deployment !== known) writeFileSync(file, JSON.stringify(deployment, null, 2));
    const { url, chainId } = anvil;
    const replaced = known !== undefined && !kept;
    const has = async (hash: string): Promise<boolean> =>
      (await anvilRpc(client, 'eth_getBlockByHash', hash, false)) !== null;
    return { url, chainId, deployment, replaced, has, stop: () => anvil.stop() };
  } catch (error) {
    if (error instanceof AnvilUnavailable) return undefined;
    throw error;
  }
}

/**
 * The same port at every start, as wallets keep the address of a chain: 8545 at first, and another one from then on
 * whenever it is taken.
 */
async function startOnKeptPort(dir: string): Promise<AnvilNode> {
  const file = path.join(dir, 'chain-port');
  const stateFile = path.join(dir, 'chain.json');
  const start = async (port?: number): Promise<AnvilNode> => {
    const anvil = await startAnvil({ stateFile, port });
    writeFileSync(file, `${anvil.port}`);
    return anvil;
  };
  const kept = readPort(file) ?? USUAL_PORT;
  // Another start may have it, and not listen yet.
  if (![undefined, process.pid].includes(claimPort(kept))) return start();
  try {
    return await start(kept);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    return start();
  }
}

function readPort(file: string): number | undefined {
  try {
    return Number(readFileSync(file, 'utf8')) || undefined;
  } catch {
    return undefined;
  }
}

/**
 * A chain whose saved clock is ahead continues from there, because block times only rise. The node reckons from its own
 * clock: by ours it could be a second behind.
 */
async function neverGoBack(client: DevClient): Promise<void> {
  const { timestamp } = await client.getBlock();
  if (timestamp > Date.now() / 1000) await anvilRpc(client, 'evm_setTime', Number(timestamp));
}

/**
 * Chains of earlier versions have a contract of savings for rotating pools. Its pools stay, and new ones get circles.
 * @returns the deployment as it was if it has circles
 */
async function withCircles(client: DevClient, deployment: Deployment): Promise<Deployment> {
  const { token, contracts, former } = deployment;
  const old = contracts[TYPE_WITH_CIRCLES];
  if (await hasCircles(client, old)) return deployment;
  const { address } = await deployPool(client, TYPE_WITH_CIRCLES, token);
  // A chain that was killed may have lost the contract that an earlier start made.
  const exists = (await client.getCode({ address: old })) !== undefined;
  const others = [...(former?.[TYPE_WITH_CIRCLES] ?? []), ...(exists ? [old] : [])];
  return {
    ...deployment,
    contracts: { ...contracts, [TYPE_WITH_CIRCLES]: address },
    former: { ...former, [TYPE_WITH_CIRCLES]: others },
  };
}

/**
 * Chains of earlier versions lack contracts of others, and one that was killed may have lost them.
 * @returns the deployment as it was if it has all
 */
async function withFurther(client: DevClient, deployment: Deployment): Promise<Deployment> {
  const made: Partial<Record<Further, Address>> = {};
  for (const name of FURTHER_NAMES) {
    const address = deployment[name];
    if (address && (await client.getCode({ address })) !== undefined) continue;
    made[name] = (await deploy(client, artifacts[FURTHER[name].contract], [deployment.token])).address;
  }
  return Object.keys(made).length === 0 ? deployment : { ...deployment, ...made };
}

/** Contracts of savings refuse the call; where there is none, the answer is empty. */
async function hasCircles(client: DevClient, address: Address): Promise<boolean> {
  try {
    await read(client, 'RotatingPool', address, 'activeCount');
    return true;
  } catch (error) {
    if (error instanceof BaseError && error.walk(isOfContract)) return false;
    throw error;
  }
}

const isOfContract = (error: unknown): boolean =>
  error instanceof ContractFunctionRevertedError || error instanceof ContractFunctionZeroDataError;

/**
 * What to say where the database has read another chain than the node has, as after a restart of a fresh anvil. A node
 * that does not answer says nothing: the indexer waits for it.
 */
export async function otherChain(databaseUrl: string, rpcUrl: string): Promise<string | undefined> {
  const database = new Client({ connectionString: databaseUrl });
  await database.connect();
  const { rows } = await database
    .query<{ chain: string }>(
      `SELECT 'chain ' || chain_id || ' with genesis ' || genesis_hash AS chain FROM chain_cursor`,
    )
    .finally(() => database.end());
  if (!rows[0]) return undefined;
  try {
    const client = await connect(rpcUrl);
    const { hash } = await client.getBlock({ blockNumber: 0n });
    const chain = `chain ${client.chain.id} with genesis ${hash}`;
    if (chain === rows[0].chain) return undefined;
    return `The database is of ${rows[0].chain}, and RPC_URL of ${chain}: a chain that is started afresh is another one.`;
  } catch {
    return undefined;
  }
}

function readDeployment(file: string): Deployment | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Deployment;
  } catch {
    return undefined;
  }
}

/** Whether this is the chain that the contracts were deployed to, and it still has one for each pool type. */
async function isOn(url: string, { genesisHash, contracts }: Deployment): Promise<boolean> {
  const client = await connect(url);
  const genesis = await client.getBlock({ blockNumber: 0n });
  if (genesis.hash !== genesisHash || POOL_TYPES.some((type) => !contracts[type])) return false;
  return (await client.getCode({ address: contracts[POOL_TYPES[0]] })) !== undefined;
}
