import { RetryableChainError } from '#indexer/reading/rpc';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { verdict } from './cross-check';

/** Asks endpoints the same at once. @returns in their order; undefined for those that do not answer */
export const askEach = <T>(
  endpoints: WatchedEndpoint[],
  ask: (endpoint: WatchedEndpoint) => Promise<T>,
): Promise<(T | undefined)[]> =>
  Promise.all(
    endpoints.map(async (each) => {
      try {
        return await ask(each);
      } catch (error) {
        if (error instanceof RetryableChainError) return undefined;
        throw error;
      }
    }),
  );

/** The claim of more than half of those that made one. */
export function majority<T>(claims: (T | undefined)[]): T | undefined {
  const made = claims.filter((each) => each !== undefined);
  return made[
    acceptedClaim(
      made.map((each) => JSON.stringify(each)),
      1,
    )
  ];
}

/**
 * The vote on batches, for a fact of the chain that several endpoints were asked for at once.
 * @param claims of each endpoint that answered; undefined if it lacks the fact
 * @param agree how many endpoints must say the same
 * @returns the index of one whose claim is accepted; -1 if none is
 */
export const acceptedClaim = (claims: (string | undefined)[], agree: number): number =>
  claims.findIndex((claim, reader) => {
    if (claim === undefined) return false;
    const others = claims.filter((_, i) => i !== reader);
    return (
      verdict(
        others.map((other) => ({ stance: stanceOf(other, claim), claim: other })),
        agree,
      ) === 'accepted'
    );
  });

const stanceOf = (other: string | undefined, claim: string): 'agrees' | 'differs' | 'lacks' =>
  other === undefined ? 'lacks' : other === claim ? 'agrees' : 'differs';
