import type { BlockBatch } from '#indexer/reading/block-batch';
import { RetryableChainError } from '#indexer/reading/rpc';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';

/** Endpoints disagree about the same blocks, and nothing proves which of them is right. */
export class Disagreement extends RetryableChainError {}

/** A text that is the same for equal answers; undefined if an endpoint lacks what it was asked for. */
export type Claim = string | undefined;

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
 * The vote on a fact of the chain that several endpoints were asked for at once.
 * @param agree how many endpoints must say the same
 * @returns the index of one whose claim is accepted; -1 if none is
 */
export const acceptedClaim = (claims: Claim[], agree: number): number =>
  claims.findIndex(
    (claim, i) =>
      claim !== undefined &&
      verdict(
        claim,
        claims.filter((_, other) => other !== i),
        agree,
      ) === 'accepted',
  );

/**
 * The majority of the endpoints that have what was asked for decides, if enough have it. If only one has it, we wait for
 * the others: it may have made it up. One that fails, is down, or stands still has no vote.
 * @param others claims of the others that have a vote
 * @param agree how many endpoints must have it
 */
export function verdict(
  claim: string,
  others: Claim[],
  agree: number,
): 'accepted' | 'unconfirmed' | 'undecided' | 'outvoted' {
  const differing = others.filter((each) => each !== undefined && each !== claim);
  const supporters = others.filter((each) => each === claim).length + 1;
  const isAlone = supporters === 1 && others.includes(undefined);
  if (supporters > differing.length) return isAlone || supporters < agree ? 'unconfirmed' : 'accepted';
  const largest = Math.max(...differing.map((one) => differing.filter((each) => each === one).length));
  return largest > supporters && largest * 2 > differing.length + supporters ? 'outvoted' : 'undecided';
}

/** What another endpoint says about the reader's blocks: what it read of them, or else that its chain forks before them. */
export interface Testimony {
  endpoint: WatchedEndpoint;
  batch?: BlockBatch;
  fork?: string;
}

/**
 * The claims of the reader, and of the others in their order. A count that any of them does not know is not compared.
 * @param proven contracts whose events the blocks prove: these are not compared, as some nodes number logs differently
 */
export function claimsOf(
  batch: BlockBatch,
  testimonies: Testimony[],
  proven: ReadonlySet<string> = new Set(),
): [string, ...Claim[]] {
  if (testimonies.length === 0) return [''];
  const all = [batch, ...testimonies.flatMap(({ batch: theirs }) => theirs ?? [])];
  const isKnown = batch.counts.map((_, i) => all.every(({ counts }) => counts[i] !== undefined));
  const claimOf = ({ blocks, counts, events }: BlockBatch): string =>
    JSON.stringify([
      blocks,
      counts.filter((_, i) => isKnown[i]),
      events.filter(({ contract }) => !proven.has(contract)),
    ]);
  return [claimOf(batch), ...testimonies.map(({ batch: theirs, fork }) => (theirs ? claimOf(theirs) : fork))];
}
