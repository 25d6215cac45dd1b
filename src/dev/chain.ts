import { renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Address, parseEther } from 'viem';
import { POOL_TYPES } from '#values/types';
import { type AnvilNode, AnvilUnavailable, startAnvil } from './anvil';
import {
  type DevClient,
  FURTHER,
  type Deployment,
  type LocalDeployment,
  anvilRpc,
  artifacts,
  connect,
  deploy,
  deployContracts,
  devKey,
  execute,
  seedDraws,
} from './deploy';
import { read, readJson } from './files';
import { claimPort } from './ports';

/** Where wallets expect a local chain. */
const USUAL_PORT = 8545;

export interface LocalChain {
  url: string;
  chainId: number;
  deployment: LocalDeployment;
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
  const stateFile = path.join(dir, 'chain.json');
  try {
    tell('Starting a chain');
    let anvil = await startOnKeptPort(dir, stateFile);
    let client = await connect(anvil.url);
    await neverGoBack(client);
    const known = readJson<LocalDeployment>(file);
    const kept = known && (await hasAll(client, known));
    // What a start that was interrupted has deployed is of no use, nor is a chain that lacks contracts of this version.
    if (!kept && (await client.getBlockNumber()) > 0n) {
      await anvil.stop();
      renameSync(stateFile, `${stateFile}.old`);
      anvil = await startOnKeptPort(dir, stateFile);
      client = await connect(anvil.url);
    }
    if (!kept) tell('Deploying the contracts');
    const deployment = kept ? known : await deployAll(client, anvil.url);
    if (!kept) writeFileSync(file, JSON.stringify(deployment, null, 2));
    const { url, chainId } = anvil;
    const has = async (hash: string): Promise<boolean> =>
      (await anvilRpc(client, 'eth_getBlockByHash', hash, false)) !== null;
    return { url, chainId, deployment, replaced: !!known && !kept, has, stop: () => anvil.stop() };
  } catch (error) {
    if (error instanceof AnvilUnavailable) return undefined;
    throw error;
  }
}

/**
 * The same port at every start, as wallets keep the address of a chain: 8545 at first, and another one from then on
 * whenever it is taken.
 */
async function startOnKeptPort(dir: string, stateFile: string): Promise<AnvilNode> {
  const file = path.join(dir, 'chain-port');
  const kept = Number(read(file)) || USUAL_PORT;
  // Another start may have it, and not listen yet.
  const port = [undefined, process.pid].includes(claimPort(kept)) ? kept : undefined;
  const anvil = await startAnvil({ stateFile, port }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    return startAnvil({ stateFile });
  });
  writeFileSync(file, `${anvil.port}`);
  return anvil;
}

/**
 * A chain whose saved clock is ahead continues from there, because block times only rise. The node reckons from its own
 * clock: by ours it could be a second behind.
 */
async function neverGoBack(client: DevClient): Promise<void> {
  const { timestamp } = await client.getBlock();
  if (timestamp > Date.now() / 1000) await anvilRpc(client, 'evm_setTime', Number(timestamp));
}

async function deployAll(client: DevClient, url: string): Promise<LocalDeployment> {
  const deployed = await deployContracts(url);
  const further: Record<string, Address> = {};
  for (const [name, contract] of Object.entries(FURTHER))
    further[name] = (await deploy(client, artifacts[contract], [deployed.token])).address;
  await execute(client, 'TestToken', deployed.token, 'mint', [devKey().address, parseEther('1000')]);
  await seedDraws(url, deployed);
  return { ...deployed, further };
}

/** Whether this is the chain that it was deployed to, and it still has all contracts. */
async function hasAll(
  client: DevClient,
  deployment: Deployment & Partial<LocalDeployment>,
): Promise<boolean> {
  const { hash } = await client.getBlock({ blockNumber: 0n });
  if (hash !== deployment.genesisHash) return false;
  const addresses = [
    ...POOL_TYPES.map((type) => deployment.contracts[type]),
    ...Object.keys(FURTHER).map((name) => deployment.further?.[name]),
  ];
  const codes = await Promise.all(
    addresses.map(async (address) => address && (await client.getCode({ address }))),
  );
  return !codes.includes(undefined);
}
