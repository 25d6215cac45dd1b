import { toFunctionSelector } from 'viem';
import { RetryableChainError } from '#indexer/reading/rpc';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { isFinal, majority, viewCall } from './token';

const MINIMUM = toFunctionSelector('function minimumDeposit()');
/** The number of circles that are not over. */
const CIRCLES = toFunctionSelector('function activeCount()');
const WORD = /^0x[0-9a-f]{64}$/i;

/** What a contract says of itself. */
export interface ContractFacts {
  /** The smallest deposit, as a decimal string; null if it has none. */
  minimum: string | null;
  /** Whether it holds savings circles. */
  circles: boolean;
}

/**
 * Asks all endpoints what each contract is. The majority's answer counts, so that one endpoint that lies cannot have
 * every deposit refused.
 * @returns in the order of the contracts; undefined when no majority knows
 */
export async function readContractFacts(
  endpoints: WatchedEndpoint[],
  contracts: string[],
): Promise<ContractFacts[] | undefined> {
  const claims = await Promise.all(endpoints.map((each) => claimOf(each, contracts)));
  return majority(claims.filter((each) => each !== undefined));
}

async function claimOf(
  { source }: WatchedEndpoint,
  contracts: string[],
): Promise<ContractFacts[] | undefined> {
  try {
    const calls = [MINIMUM, CIRCLES].flatMap((view) => contracts.map((contract) => viewCall(contract, view)));
    const answers = await source.rpc.settled(calls);
    if (!answers.every(isFinal)) return undefined;
    const [minimums, circles] = [answers.slice(0, contracts.length), answers.slice(contracts.length)].map(
      (some) => some.map((answer) => (typeof answer === 'string' && WORD.test(answer) ? answer : null)),
    );
    return contracts.map((_, i) => ({
      minimum: minimums[i] === null ? null : BigInt(minimums[i]).toString(),
      circles: circles[i] !== null,
    }));
  } catch (error) {
    if (error instanceof RetryableChainError) return undefined;
    throw error;
  }
}
