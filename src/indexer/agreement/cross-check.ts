import type { ChainEvent } from '#indexer/reading/decode';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { RetryableChainError } from '#indexer/reading/rpc';
import { type BlockBatch, ForkDetected, NodeBehind } from '#indexer/reading/block-batch';

/** Endpoints disagree about the same blocks, and nothing proves which of them is right. */
export class Disagreement extends RetryableChainError {}

/** Another endpoint agrees, gives a different answer, says that it lacks the block, or gives no usable answer. */
export type Stance = 'agrees' | 'differs' | 'lacks' | 'fails';

export interface Testimony {
  endpoint: WatchedEndpoint;
  stance: Stance;
  /** Its own version. Endpoints with the same claim vote together. */
  claim?: string;
  batch?: BlockBatch;
}

/** Result of the vote on the reader's answer. */
type Verdict = 'accepted' | 'unconfirmed' | 'undecided' | 'outvoted';

/**
 * The majority of the endpoints that have the block decides, if enough have it. Those that lack it or fail do not count.
 * If only the reader has the block, we wait for the others: it may have made it up. One that is down, or stands still,
 * is not asked.
 * @param agree how many endpoints must have the block, the reader included
 */
export function verdict(testimonies: Pick<Testimony, 'stance' | 'claim'>[], agree: number): Verdict {
  const count = (stance: Stance): number => testimonies.filter((each) => each.stance === stance).length;
  const differing = count('differs');
  const supporters = count('agrees') + 1;
  const isAlone = supporters === 1 && count('lacks') > 0;
  if (supporters > differing) return isAlone || supporters < agree ? 'unconfirmed' : 'accepted';
  const claims = new Map<string, number>();
  for (const { stance, claim = '' } of testimonies)
    if (stance === 'differs') claims.set(claim, (claims.get(claim) ?? 0) + 1);
  const largest = Math.max(...claims.values());
  return largest > supporters && largest * 2 > differing + supporters ? 'outvoted' : 'undecided';
}

/**
 * Reports what another endpoint read of the reader's blocks. Never throws: unusable answers are that endpoint's failure.
 * @param blames whether a failure counts against the endpoint
 */
export async function testify(
  endpoint: WatchedEndpoint,
  reading: Promise<BlockBatch>,
  blames: boolean,
): Promise<Testimony> {
  try {
    return { endpoint, stance: 'agrees', batch: await reading };
  } catch (error) {
    if (error instanceof NodeBehind) return { endpoint, stance: 'lacks' };
    // Its chain does not continue from our cursor, so it contradicts every batch that does.
    if (error instanceof ForkDetected) return { endpoint, stance: 'differs', claim: error.message };
    if (blames) endpoint.failed('failing', true);
    return { endpoint, stance: 'fails' };
  }
}

const fieldsOf = (event: ChainEvent): unknown[] =>
  Object.values(event.second ? { ...event, second: JSON.stringify(event.second) } : event);

/** Whether two batches of the same range are equal. A count that one endpoint does not know is no difference. */
const sameBatch = (a: BlockBatch, b: BlockBatch): boolean =>
  JSON.stringify(a.blocks) === JSON.stringify(b.blocks) &&
  a.counts.every((count, i) => count === b.counts[i] || count === undefined || b.counts[i] === undefined) &&
  a.events.length === b.events.length &&
  a.events.every((event, i) => sameValues(fieldsOf(event), fieldsOf(b.events[i])));

const sameValues = (a: unknown[], b: unknown[]): boolean =>
  a.length === b.length && a.every((value, i) => value === b[i]);

/** A text that is the same for equal batches. */
const claimOf = ({ blocks, events, counts }: BlockBatch): string =>
  JSON.stringify([blocks, counts.map(String), events.map((event) => fieldsOf(event))]);

/**
 * The same answers, compared with the reader's batch.
 * @param proven contracts whose events the blocks prove: these are not compared, as some nodes number logs differently
 */
export function compared(
  testimonies: Testimony[],
  batch: BlockBatch,
  proven: ReadonlySet<string> = new Set(),
): Testimony[] {
  const open = (of: BlockBatch): BlockBatch =>
    proven.size === 0 ? of : { ...of, events: of.events.filter(({ contract }) => !proven.has(contract)) };
  const ours = open(batch);
  return testimonies.map((each) => {
    if (!each.batch) return each;
    const theirs = open(each.batch);
    const { endpoint, batch: whole } = each;
    return sameBatch(theirs, ours)
      ? { endpoint, batch: whole, stance: 'agrees' }
      : { endpoint, batch: whole, stance: 'differs', claim: claimOf(theirs) };
  });
}
