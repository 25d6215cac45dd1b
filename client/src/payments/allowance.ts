import { type Address, type Client, type Hex, decodeFunctionData, encodeFunctionData, erc20Abi } from 'viem';
import { call, readContract } from 'viem/actions';
import type { ContractCall } from '../types.js';
import { lacksMethod } from './wallet-errors.js';

/** The service names the chain's own coin so (ERC-7528). It needs no approval. */
export const NATIVE_COIN = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';

/** Tokens that a contract may take. */
export interface Spending {
  token: Address;
  spender: Address;
  amount: bigint;
}

/** What an approval allows. */
export function spendingOf({ to, data }: ContractCall): Spending {
  const { args } = decodeFunctionData({ abi: erc20Abi, data: data as Hex });
  const [spender, amount] = args as readonly [Address, bigint];
  return { token: to as Address, spender, amount };
}

export const allowanceOf = (reader: Client, owner: Address, { token, spender }: Spending): Promise<bigint> =>
  readContract(reader, { address: token, abi: erc20Abi, functionName: 'allowance', args: [owner, spender] });

/**
 * The approvals to send. Some tokens (USDT) refuse to change an allowance that is left over, unless to zero first.
 */
export async function approvals(
  reader: Client,
  owner: Address,
  approval: ContractCall,
  spending: Spending,
): Promise<ContractCall[]> {
  if ((await allowanceOf(reader, owner, spending)) === 0n) return [approval];
  try {
    await call(reader, { account: owner, to: spending.token, data: approval.data as Hex });
    return [approval];
  } catch (error) {
    if (lacksMethod(error)) return [approval];
    const args = [spending.spender, 0n] as const;
    return [
      { ...approval, data: encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args }) },
      approval,
    ];
  }
}
