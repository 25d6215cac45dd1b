import { toFunctionSelector } from 'viem';
import { askEach, majority } from '#indexer/agreement/vote';
import type { Call } from '#indexer/reading/rpc';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { isFinal, viewCall } from './token';

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
export const readContractFacts = async (
  endpoints: WatchedEndpoint[],
  contracts: string[],
): Promise<ContractFacts[] | undefined> =>
  majority(await askEach(endpoints, (each) => claimOf(each, contracts)));

/**
 * The contracts at whose addresses there is nothing: an endpoint says so, and none of the others has code there. Such a
 * contract would be followed as one without events, and payers lose their money.
 */
export async function contractsWithoutCode(
  endpoints: WatchedEndpoint[],
  contracts: string[],
): Promise<Set<string>> {
  const calls = contracts.map((address): Call => ['eth_getCode', [address, 'latest']]);
  const answers = await askEach(endpoints, ({ source }) => source.rpc.settled(calls));
  return new Set(
    contracts.filter((_, i) => {
      const codes = answers.map((given) => given?.[i]).filter((code) => typeof code === 'string');
      return codes.length > 0 && codes.every((code) => code === '0x');
    }),
  );
}

async function claimOf(
  { source }: WatchedEndpoint,
  contracts: string[],
): Promise<ContractFacts[] | undefined> {
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
}
