import {
  type Abi,
  type AbiStateMutability,
  type Address,
  type ContractFunctionArgs,
  type ContractFunctionName,
  type Hex,
  IntegerOutOfRangeError,
  encodeFunctionData,
} from 'viem';
import { bytes16 } from '#values/bytes16';
import { forbidden, namedError, notFound, validationFailed } from '#platform/errors/errors';
import { encodeCall, readCall } from '#ledger/adapters/own-call';
import { NATIVE_COIN, type OwnCall } from '#ledger/adapters/pool-contract';
import { savingsPoolAbi, tokenAbi } from '#ledger/chain/contract.abi';
import type { AuthenticatedUser } from '#features/access/current-user';
import type { CallName, ContractCalls } from './calls.dto';
import type { ChainRow, DepositRow, OwnContract } from './calls.sql';

/** What a wallet sends, without the chain id: the same on every chain. */
export interface EncodedCall {
  name: CallName;
  to: Address;
  data: Hex;
  /** In wei. */
  value?: bigint;
}

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
export function tokenOf({ token }: ChainRow): Address {
  if (token === null) throw namedError('chain_unknown');
  return token as Address;
}

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

const NAMES: Record<OwnCall, CallName> = { deposit: 'deposit', withdraw: 'withdraw', claim: 'claimYield' };

/**
 * A call as the contract's adapter describes it.
 * @returns what makes it of an amount in smallest token units; undefined for the reference contracts, which have none
 * @throws ApiError 403 where a pool is an account at the contract, and not the caller's: what a call names decides there
 * whose money it moves. 409 if the adapter describes no such call, or the contract has no number for the pool yet
 */
export function ownCall(
  call: OwnCall,
  { contract, own }: { contract: string; own: OwnContract | null },
  poolId: string,
  caller: string,
): ((amount: bigint) => EncodedCall) | undefined {
  if (!own) return undefined;
  if (own.poolsBy === 'account' && own.owner !== caller) throw forbidden();
  const signature = own.calls[call];
  const pool = poolAt(own, contract as Address, poolId);
  if (signature === undefined || pool === undefined) throw namedError('calls_unknown');
  const item = readCall(signature, contract);
  return (amount) => {
    try {
      return {
        name: NAMES[call],
        to: contract as Address,
        data: encodeCall(item, { pool, account: caller as Address, amount }),
      };
    } catch (error) {
      if (!(error instanceof IntegerOutOfRangeError)) throw error;
      throw validationFailed({ field: 'amount', message: 'is more than the contract can take' });
    }
  };
}

/** What the contract calls the pool; undefined if it does not know it yet, or is another pool. */
function poolAt({ poolsBy, owner, number, isInPlace }: OwnContract, contract: Address, poolId: string) {
  if (poolsBy === 'reference') return bytes16(poolId);
  if (poolsBy === 'number') return number === null ? undefined : BigInt(number);
  return isInPlace ? { account: owner, contract }[poolsBy] : undefined;
}
