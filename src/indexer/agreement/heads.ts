import type { Block } from '#indexer/reading/raw-chain';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';

/** The head of the chain as the endpoints see it. */
export interface Heads {
  reader: WatchedEndpoint;
  /** The reader's head. */
  head: Block;
  /** Last block that a second endpoint has too; the reader's head if there is no second. */
  upTo: number;
  /** The best head that is believed. */
  best: number;
}

/**
 * Compares the heads of the endpoints that have just been asked, and chooses the reader: the first one that is well.
 * @returns undefined when no endpoint of the chain answers
 */
export function judgeHeads(all: WatchedEndpoint[]): Heads | undefined {
  const usable = all.filter(({ error, head, wrongChain }) => !error && head && !wrongChain);
  if (usable.length === 0) return undefined;
  const honest = usable.filter(({ state }) => state !== 'lying');
  const heads = descending(honest.length > 0 ? honest : usable);
  // With three or more endpoints, a head that only one of them has does not count.
  const best = heads[heads.length >= 3 ? 1 : 0];
  for (const each of usable) each.compare(best);
  const well = usable.filter(({ state }) => state === 'ok');
  const awakeFirst = [...honest, ...usable].sort((a, b) => Number(a.resting) - Number(b.resting));
  const reader = well[0] ?? awakeFirst[0];
  const head = reader.head!;
  const shared = descending(well)[1] ?? head.number;
  return { reader, head, upTo: Math.min(head.number, shared), best };
}

const descending = (endpoints: WatchedEndpoint[]): number[] =>
  endpoints.map(({ head }) => head!.number).sort((a, b) => b - a);
