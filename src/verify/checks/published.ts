import { compareDerived } from './compare';
import type { Look } from './look';
import { COMPARE_PUBLISHED, COUNTS } from './published.sql';

interface Published {
  block: string;
  what: string;
  published: number;
  applied: number;
  subjects: string[];
}

/** Differences that one run reports at most. */
const MOST_DIFFERING = 10_000;

/** Compares what the outbox has published of the chain's events, as far as it still has that, with the events that apply. */
export async function comparePublished(look: Look): Promise<void> {
  await compareDerived(look, [COUNTS]);
  const differing = await look.rows<Published>(COMPARE_PUBLISHED, MOST_DIFFERING);
  const times = (count: number, what: string): string | null =>
    count === 0 ? null : `published ${count} times: ${what}`;
  look.findings.doubt(
    differing.map(({ block, what, published, applied, subjects }) => ({
      kind: 'outbox.items',
      id: block,
      found: times(published, what),
      wanted: times(applied, what),
      // Without an event, what was published may have been right.
      subjects: published > applied ? subjects : [],
    })),
  );
}
