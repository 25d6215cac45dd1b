import { v7 as newId } from 'uuid';
import type { Abi, Address } from 'viem';
import { type DevClient, receiptOf } from '#dev/deploy';
import type { PoolType } from '#values/types';
import type { Response, TestApp } from '../app';
import { type ChainBench, eventually } from './chain-bench';

export const addressOf = (client: DevClient): Address => client.account.address.toLowerCase() as Address;

/** Calls a contract of the tests as a wallet does, and expects that it takes the call. */
export async function call(
  client: DevClient,
  contract: { abi: Abi; address: Address },
  functionName: string,
  ...args: unknown[]
): Promise<void> {
  const hash = await client.writeContract({ ...contract, functionName, args, gas: 1_000_000n });
  expect((await receiptOf(client, hash)).status).toBe('success');
}

/** Cancels a pool as clients do while an indexer that has just started cannot tell what was paid. */
export const cancelOnceKnown = (app: TestApp, pool: string, as: { token: string }): Promise<Response> =>
  eventually(
    'what was paid',
    () => app.send({ method: 'DELETE', url: `/pools/${pool}`, as }),
    ({ body }) => body.code !== 'chain_unknown',
  );

/** A pool of the service, as POST /pools makes it; with a deposit that is announced. */
export async function addPool(
  bench: ChainBench,
  owner: DevClient,
  {
    id = newId(),
    type,
    contract,
    deposit,
  }: { id?: string; type: PoolType; contract: Address; deposit?: bigint },
): Promise<string> {
  await bench.insertPool(id, contract, type, addressOf(owner));
  if (deposit !== undefined) await bench.pending(id, deposit, 0, addressOf(owner));
  return id;
}
