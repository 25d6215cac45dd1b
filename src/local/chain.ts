import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Deployment, type DevClient, anvilRpc, connect, deployContracts, seedDraws } from './deploy';
import { AnvilUnavailable, startAnvil } from './anvil';

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
export async function startChain(dir: string): Promise<LocalChain | undefined> {
  const file = path.join(dir, 'deployment.json');
  try {
    const anvil = await startAnvil({ stateFile: path.join(dir, 'chain.json') });
    const client = await connect(anvil.url);
    await neverGoBack(client);
    const known = read(file);
    const kept = known && (await isOn(anvil.url, known));
    const deployment = kept ? known : await deployContracts(anvil.url);
    if (!kept) {
      await seedDraws(anvil.url, deployment);
      writeFileSync(file, JSON.stringify(deployment, null, 2));
    }
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

/** A chain whose saved clock is ahead of ours continues from there, because block times only rise. */
async function neverGoBack(client: DevClient): Promise<void> {
  const { timestamp } = await client.getBlock();
  const ahead = Number(timestamp) - Math.floor(Date.now() / 1000);
  if (ahead > 0) await anvilRpc(client, 'evm_increaseTime', ahead);
}

function read(file: string): Deployment | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Deployment;
  } catch {
    return undefined;
  }
}

/** Whether this is the chain that the contracts were deployed to, and it still has them. */
async function isOn(url: string, { genesisHash, contracts }: Deployment): Promise<boolean> {
  const client = await connect(url);
  const genesis = await client.getBlock({ blockNumber: 0n });
  const code = await client.getCode({ address: contracts.lottery });
  return genesis.hash === genesisHash && code !== undefined;
}
