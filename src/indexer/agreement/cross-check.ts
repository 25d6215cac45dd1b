import type { ChainEvent } from '#indexer/reading/decode';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { RetryableChainError } from '#indexer/reading/rpc';
import { type BlockBatch, ForkDetected, NodeBehind, inOrder } from '#indexer/reading/block-batch';

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
 * Repeats the reader's request on another endpoint and compares the answers. Never throws: whatever goes wrong
 * with what it sent is its failure.
 * @param blames whether a failure counts against the endpoint
 */
export async function testify<T>(
  endpoint: WatchedEndpoint,
  work: () => Promise<T | undefined>,
  compare: (found: T) => Omit<Testimony, 'endpoint'>,
  blames = true,
): Promise<Testimony> {
  try {
    const found = await work();
    return found === undefined ? { endpoint, stance: 'lacks' } : { endpoint, ...compare(found) };
  } catch (error) {
    if (error instanceof NodeBehind) return { endpoint, stance: 'lacks' };
    // Its chain does not continue from our cursor, so it contradicts every batch that does.
    if (error instanceof ForkDetected) return { endpoint, stance: 'differs', claim: error.message };
    if (blames) endpoint.failed('failing', true);
    return { endpoint, stance: 'fails' };
  }
}

const FIELDS = (event: ChainEvent): unknown[] =>
  Object.values(event.second ? { ...event, second: contentOf(event.second) } : event);

/** Whether two batches of the same range are equal. A count that one endpoint does not know is no difference. */
function sameBatch(a: BlockBatch, b: BlockBatch): boolean {
  return (
    JSON.stringify(a.blocks) === JSON.stringify(b.blocks) &&
    a.counts.every((count, i) => count === b.counts[i] || count === undefined || b.counts[i] === undefined) &&
    a.events.length === b.events.length &&
    a.events.every((event, i) => sameValues(FIELDS(event), FIELDS(b.events[i])))
  );
}

const sameValues = (a: unknown[], b: unknown[]): boolean =>
  a.length === b.length && a.every((value, i) => value === b[i]);

/** What receipts prove of an unnumbered event besides its position. Only nodes vouch for hashes of transactions. */
const contentOf = (event: ChainEvent): string =>
  JSON.stringify({
    ...event,
    ...{ txHash: '', logIndex: 0, seq: 0 },
    ...(event.second && { second: contentOf(event.second) }),
  });
const byContent = (events: ChainEvent[]): [content: string, event: ChainEvent][] =>
  events
    .map((event): [string, ChainEvent] => [contentOf(event), event])
    .sort(([a], [b]) => (a < b ? -1 : Number(a > b)));

/**
 * Gives these events the positions of the proven ones: some nodes count logs per transaction, or from 1.
 * @returns undefined if they are not the same events
 */
export function placedAs(events: ChainEvent[], proven: ChainEvent[]): ChainEvent[] | undefined {
  const [given, right] = [byContent(events), byContent(proven)];
  if (given.length !== right.length || given.some(([content], i) => content !== right[i][0]))
    return undefined;
  return given.map(([, event], i) => {
    const { logIndex, seq } = right[i][1];
    return { ...event, logIndex, seq };
  });
}

/** Their batch, with the proven events of these contracts at our positions. @returns undefined if the events differ */
function placedAsOurs(
  theirs: BlockBatch,
  batch: BlockBatch,
  proven: ReadonlySet<string>,
): BlockBatch | undefined {
  const [own, ours] = [theirs, batch].map(({ events }) =>
    events.filter(({ contract }) => proven.has(contract)),
  );
  const placed = placedAs(own, ours);
  const others = theirs.events.filter(({ contract }) => !proven.has(contract));
  return placed && { ...theirs, events: inOrder([...others, ...placed]) };
}

/** Whether other events of these contracts are said to be in the same blocks than those that are proven. */
export const contradicts = (theirs: BlockBatch, batch: BlockBatch, proven?: ReadonlySet<string>): boolean =>
  proven !== undefined && theirs.to.hash === batch.to.hash && !placedAsOurs(theirs, batch, proven);

/** A text that is the same for equal batches. */
const claimOf = ({ blocks, events, counts }: BlockBatch): string =>
  JSON.stringify([blocks, counts.map(String), events.map((event) => FIELDS(event))]);

/** The same answers, compared with the reader's batch. */
export const compared = (testimonies: Testimony[], batch: BlockBatch): Testimony[] =>
  testimonies.map((each) =>
    !each.batch || sameBatch(each.batch, batch)
      ? each
      : { ...each, stance: 'differs', claim: claimOf(each.batch) },
  );

/** Turns a difference into agreement if the endpoint only counts the logs of proven contracts in another way. */
export function countedAlike(each: Testimony, batch: BlockBatch, proven?: ReadonlySet<string>): Testimony {
  const { stance, batch: theirs } = each;
  if (!proven || stance !== 'differs' || theirs?.to.hash !== batch.to.hash) return each;
  const placed = placedAsOurs(theirs, batch, proven);
  return placed ? compared([{ endpoint: each.endpoint, stance: 'agrees', batch: placed }], batch)[0] : each;
}
