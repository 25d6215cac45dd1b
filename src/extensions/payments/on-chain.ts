import { forbidden, namedError, notFound } from '#platform/errors/errors';
import type { AuthenticatedUser } from '#features/access/current-user';
import type { ContractCalls } from './calls.dto';
import type { ChainRow, DepositRow } from './calls.sql';
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

/** What the caller owes for the announced deposit. A payment from another wallet would not confirm it. */
export function amountDue(
  { account, status, amount, isSubmitted }: DepositRow,
  caller: AuthenticatedUser,
): bigint {
  if (account === null) throw notFound();
  if (account !== caller.address) throw forbidden();
  if (status !== 'PENDING') throw namedError('transaction_not_pending');
  if (isSubmitted) throw namedError('deposit_submitted');
  return BigInt(amount!);
}
