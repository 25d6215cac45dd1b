import { verdict } from './cross-check';

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
