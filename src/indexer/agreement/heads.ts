import type { Mark, Marks } from '#indexer/reading/finality';
import type { Block } from '#indexer/reading/raw-chain';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import type { Tag } from '#indexer/reading/tags';

/** The head of the chain as the endpoints see it. */
export interface Heads {
  reader: WatchedEndpoint;
  /** The reader's head. */
  head: Block;
  /** Last block of the reader that enough others have too. */
  upTo: number;
  /** The best head that is believed. */
  best: number;
  /** The highest head of any endpoint, but for those that are not believed. */
  highest: number;
  /** How far blocks are safe and final. */
  marks: Marks;
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
  // Nor does a head count against others while its endpoint cannot show its blocks.
  const shown = believed.filter(({ state, resting }) => state !== 'failing' || !resting);
  const [mark] = shown.length > 0 ? descending(shown) : [highest];
  // A single endpoint may have made its head up: a head counts when two have it.
  const moving = believed.filter((each) => !each.standsStill(mark));
  const heads = descending(moving);
  const best = heads[Math.min(Math.max(agree, 2), heads.length) - 1];
  for (const each of usable) each.compare(best);
  const well = usable.filter(({ state }) => state === 'ok');
  const reader = well[0] ?? [...honest, ...usable].sort((a, b) => reluctance(a) - reluctance(b))[0];
  const head = reader.head!;
  const marks = judgeMarks(moving, agree);
  return { reader, head, upTo: Math.min(head.number, best), best, highest, marks };
}

/** Of endpoints that are not well, one that failed may work again; one that stands still has nothing new, and a liar is the last. */
const reluctance = ({ resting, state }: WatchedEndpoint): number =>
  resting ? 2 : Number(state !== 'failing');

const descending = (endpoints: WatchedEndpoint[]): number[] =>
  endpoints.map(({ head }) => head!.number).sort((a, b) => b - a);

/**
 * How far blocks are safe and final by what endpoints said last. As with heads, a single endpoint may have made it
 * up: a block counts when two call it so, or as many as have to agree. One that says nothing vouches for nothing.
 */
export function judgeMarks(believed: Pick<WatchedEndpoint, 'tagged'>[], agree: number): Marks {
  const enough = Math.min(Math.max(agree, 2), believed.length);
  const markOf = (tag: Tag): Mark | undefined => {
    const said = believed.flatMap(({ tagged }) => tagged[tag] ?? []).sort((a, b) => b.number - a.number);
    const number = said[enough - 1]?.number;
    if (number === undefined) return undefined;
    return { number, hashes: said.filter((block) => block.number === number).map(({ hash }) => hash) };
  };
  return { safe: markOf('safe'), finalized: markOf('finalized') };
}
