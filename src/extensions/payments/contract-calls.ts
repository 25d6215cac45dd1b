import {
  type Abi,
  type AbiStateMutability,
  type Address,
  type ContractFunctionArgs,
  type ContractFunctionName,
  type Hex,
  encodeFunctionData,
} from 'viem';
import { bytes16 } from '#values/bytes16';
import { forbidden, namedError, notFound } from '#platform/errors/errors';
import { NATIVE_COIN } from '#ledger/adapters/pool-contract';
import { savingsPoolAbi, tokenAbi } from '#ledger/chain/contract.abi';
import type { AuthenticatedUser } from '#features/access/current-user';
import type { CallName, ContractCalls } from './calls.dto';
import type { ChainRow, DepositRow } from './calls.sql';

/** What a wallet sends, without the chain id: the same on every chain. */
export interface EncodedCall {
  name: CallName;
  to: Address;
  data: Hex;
  /** In wei. */
  value?: bigint;
}

/** The call of the function with this name. */
export function encode<const Of extends Abi, Name extends CallName & ContractFunctionName<Of>>(
  abi: Of,
  name: Name,
  to: Address,
  ...args: ContractFunctionArgs<Of, AbiStateMutability, Name> & readonly unknown[]
): EncodedCall {
  return { name, to, data: encodeFunctionData<Abi>({ abi, functionName: name, args }) };
}

/** @param transaction id of the pending deposit that the call pays; 0, if it pays none */
export const reference = (transaction?: string): Hex =>
  transaction === undefined ? `0x${'0'.repeat(32)}` : bytes16(transaction);

/**
 * Allows a contract to take exactly this amount of the caller's tokens.
 * @throws ApiError 409 for the chain's own coin, which no contract with the service's own calls takes
 */
export function approve(token: Address, spender: Address, amount: bigint): EncodedCall {
  if (token === NATIVE_COIN) throw namedError('calls_unknown');
  return encode(tokenAbi, 'approve', token, spender, amount);
}

export const withdraw = (contract: Address, pool: string, amount: bigint): EncodedCall =>
  encode(savingsPoolAbi, 'withdraw', contract, bytes16(pool), reference(), amount);

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
