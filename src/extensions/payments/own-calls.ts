import { type AbiFunction, type Address, type Hex, IntegerOutOfRangeError } from 'viem';
import { bytes16 } from '#values/bytes16';
import { forbidden, namedError, validationFailed } from '#platform/errors/errors';
import { type CallValues, encodeCall, readCall } from '#ledger/adapters/own-call';
import type { OwnCall } from '#ledger/adapters/pool-contract';
import type { CallName } from './calls.dto';
import type { OwnContract } from './calls.sql';
import type { EncodedCall } from './contract-calls';

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
  const account = caller as Address;
  return (amount) => ({
    name: NAMES[call],
    to: contract as Address,
    data: dataOf(item, { pool, account, amount }),
  });
}

/** @throws ApiError 400 for an amount that the function's parameter cannot hold */
function dataOf(item: AbiFunction, values: CallValues): Hex {
  try {
    return encodeCall(item, values);
  } catch (error) {
    if (!(error instanceof IntegerOutOfRangeError)) throw error;
    throw validationFailed({ field: 'amount', message: 'is more than the contract can take' });
  }
}

/** What the contract calls the pool; undefined if it does not know it yet, or is another pool. */
function poolAt(
  { poolsBy, owner, number, isInPlace }: OwnContract,
  contract: Address,
  poolId: string,
): Hex | bigint | undefined {
  switch (poolsBy) {
    case 'account':
      return isInPlace ? owner : undefined;
    case 'contract':
      return isInPlace ? contract : undefined;
    case 'number':
      return number === null ? undefined : BigInt(number);
    case 'reference':
      return bytes16(poolId);
  }
}
