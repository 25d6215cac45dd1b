import type { Account, Address } from 'viem';
import type { ContractCall } from '../types.js';
import type { Spending } from './allowance.js';
import type { Run } from './send.js';

/**
 * The call with an approval by signature in it (EIP-2612).
 * @returns undefined if the token, the contract or the account cannot
 */
export async function withPermit(
  _run: Run,
  _account: Account | Address,
  _call: ContractCall,
  _spending: Spending,
): Promise<ContractCall | undefined> {
  return Promise.resolve(undefined);
}
