import { RetryableChainError } from '#indexer/reading/rpc';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';

/**
 * The contracts at whose addresses there is nothing: an endpoint says so, and none of the others has code there. Such a
 * contract would be followed as one without events, and whoever pays it loses the money.
 */
export async function contractsWithoutCode(
  endpoints: WatchedEndpoint[],
  contracts: string[],
): Promise<Set<string>> {
  const answers = await Promise.all(endpoints.map((each) => codesOf(each, contracts)));
  return new Set(
    contracts.filter((_, i) => {
      const codes = answers.map((codes) => codes[i]).filter((code) => typeof code === 'string');
      return codes.length > 0 && codes.every((code) => code === '0x');
    }),
  );
}

async function codesOf({ source }: WatchedEndpoint, contracts: string[]): Promise<unknown[]> {
  try {
    return await source.rpc.settled(contracts.map((address) => ['eth_getCode', [address, 'latest']]));
  } catch (error) {
    if (error instanceof RetryableChainError) return [];
    throw error;
  }
}
