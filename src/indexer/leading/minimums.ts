import { toFunctionSelector } from 'viem';
import { RetryableChainError } from '#indexer/reading/rpc';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { isFinal, majority, viewCall } from './token';

const MINIMUM = toFunctionSelector('function minimumDeposit()');
const WORD = /^0x[0-9a-f]{64}$/i;

/**
 * Asks all endpoints for the smallest deposit of each contract. The majority's answer counts, so that one endpoint that
 * lies cannot have every deposit refused.
 * @returns decimal strings in the order of the contracts, null for those that have no minimum; undefined when no
 * majority knows
 */
export async function readMinimums(
  endpoints: WatchedEndpoint[],
  contracts: string[],
): Promise<(string | null)[] | undefined> {
  const claims = await Promise.all(endpoints.map((each) => claimOf(each, contracts)));
  return majority(claims.filter((each) => each !== undefined));
}

async function claimOf(
  { source }: WatchedEndpoint,
  contracts: string[],
): Promise<(string | null)[] | undefined> {
  try {
    const answers = await source.rpc.settled(contracts.map((contract) => viewCall(contract, MINIMUM)));
    if (!answers.every(isFinal)) return undefined;
    return answers.map((answer) =>
      typeof answer === 'string' && WORD.test(answer) ? BigInt(answer).toString() : null,
    );
  } catch (error) {
    if (error instanceof RetryableChainError) return undefined;
    throw error;
  }
}
