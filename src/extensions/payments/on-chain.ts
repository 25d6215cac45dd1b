import { namedError } from '#platform/errors/errors';
import type { ContractCalls } from './calls.dto';
import type { ChainRow } from './calls.sql';
import type { EncodedCall } from './contract-calls';

/** @throws ApiError 503 until an indexer has read it */
export function chainIdOf({ chainId }: Pick<ChainRow, 'chainId'>): number {
  if (chainId === null) throw namedError('chain_unknown');
  return Number(chainId);
}

/** The calls as a wallet sends them on this chain. */
export const calls = (chainId: number, ...encoded: EncodedCall[]): ContractCalls => ({
  calls: encoded.map(({ name, to, data, value = 0n }) => ({ name, chainId, to, data, value: `${value}` })),
});
