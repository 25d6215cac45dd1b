import type { Look, Value } from './look';
import * as sql from './told.sql';

interface Told {
  block: string;
  what: string;
  told: number;
  applied: number;
  subjects: string[];
}
interface Place {
  xid: string;
  position: string;
}

/** Looked at at once. A row of the outbox has up to a thousand events. */
const ROWS = [1, 500] as const;
const EVENTS = [500, 5000] as const;
/** Differences that are told of in one run. */
const MOST_DIFFERING = 10_000;

/** Compares what the outbox tells of the chain's events, as far as it still keeps that, with the events that apply. */
export async function compareTold(look: Look): Promise<void> {
  const [{ first, until }] = await look.rows<{ first: string; until: string }>(sql.REACH);
  await look.goOn<Place>({ xid: '0', position: '-1' }, ROWS, ({ xid, position }, limit) => {
    look.mode.advance(limit);
    return takeTold(look, first, xid, position, until, limit);
  });
  // From the last event before the first block.
  await look.goOn({ block: first, index: '-1' }, EVENTS, async ({ block, index }, limit) => {
    look.mode.advance(limit);
    return (await look.rows<{ block: string; index: string }>(sql.TAKE_APPLIED, block, index, limit)).at(-1);
  });
  await look.client.query('ANALYZE verified_told');
  const differing = await look.rows<Told>(sql.COMPARE_TOLD, first, until, MOST_DIFFERING);
  const times = (count: number, what: string): string | null =>
    count === 0 ? null : `told ${count} times: ${what}`;
  look.findings.doubt(
    differing.map(({ block, what, told, applied, subjects }) => ({
      kind: 'outbox.items',
      id: block,
      found: times(told, what),
      wanted: times(applied, what),
      // Without an event, what was told may have been right.
      subjects: told > applied ? subjects : [],
    })),
  );
}

async function takeTold(look: Look, ...parameters: unknown[]): Promise<Place | undefined> {
  const [last] = await look.rows<Place & { differences: (Value & Place)[] }>(sql.TAKE_TOLD, ...parameters);
  const wrong = last?.differences ?? [];
  await look.report('outbox', wrong, () =>
    look.client.query(sql.REPAIR_COUNT, [wrong.map(({ xid }) => xid), wrong.map(({ position }) => position)]),
  );
  return last;
}
