import type { Block } from '#indexer/reading/raw-chain';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';

/** The head of the chain as the endpoints see it. */
export interface Heads {
  reader: WatchedEndpoint;
  /** The reader's head. */
  head: Block;
  /** Last block of the reader that enough others have too. */
  upTo: number;
  /** The best head that is believed. */
  best: number;
}

/**
 * Compares the heads of the endpoints that have just been asked, and chooses the reader: the first one that is well.
 * @param agree how many endpoints must have a block
 * @returns undefined when too few endpoints of the chain answer
 */
export function judgeHeads(all: WatchedEndpoint[], agree: number): Heads | undefined {
  const usable = all.filter(({ error, head, wrongChain }) => !error && head && !wrongChain);
  if (usable.length < agree) return undefined;
  const honest = usable.filter(({ state }) => state !== 'lying');
  const believed = honest.length > 0 ? honest : usable;
  const [highest] = descending(believed);
  // Whoever alone is ahead may have made it up: a head counts when two have it.
  const heads = descending(believed.filter((each) => !each.standsStill(highest)));
  const best = heads[Math.min(Math.max(agree, 2), heads.length) - 1];
  for (const each of usable) each.compare(best);
  const well = usable.filter(({ state }) => state === 'ok');
  const awakeFirst = [...honest, ...usable].sort((a, b) => Number(a.resting) - Number(b.resting));
  const reader = well[0] ?? awakeFirst[0];
  const head = reader.head!;
  return { reader, head, upTo: Math.min(head.number, best), best };
}

const descending = (endpoints: WatchedEndpoint[]): number[] =>
  endpoints.map(({ head }) => head!.number).sort((a, b) => b - a);
