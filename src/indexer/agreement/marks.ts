import type { Mark, Marks } from '#indexer/reading/finality';
import type { Tag } from '#indexer/reading/tags';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';

const TAGS: Tag[] = ['safe', 'finalized'];

/**
 * How far blocks are safe and final by what endpoints said last. As with heads, a single endpoint may have made it
 * up: a block counts when two call it so, or as many as have to agree. One that says nothing vouches for nothing.
 */
export function judgeMarks(believed: Pick<WatchedEndpoint, 'tagged'>[], agree: number): Marks {
  const marks: Marks = {};
  for (const tag of TAGS) marks[tag] = judge(believed, tag, Math.max(agree, 2));
  return marks;
}

function judge(believed: Pick<WatchedEndpoint, 'tagged'>[], tag: Tag, enough: number): Mark | undefined {
  const said = believed.flatMap(({ tagged }) => tagged[tag] ?? []).sort((a, b) => b.number - a.number);
  const number = said[Math.min(enough, believed.length) - 1]?.number;
  if (number === undefined) return undefined;
  return { number, hashes: said.filter((block) => block.number === number).map(({ hash }) => hash) };
}
