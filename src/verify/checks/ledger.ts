import { LOCK_POOLS, differencesOf, repairOf } from './compare';
import * as events from './events.sql';
import type { Doubt } from './findings';
import { type Look, type Value, halves, unique } from './look';
import { replayPositions } from './positions';

interface TimeValue extends Value {
  pool: string;
  event: string | null;
}
/** Compares events with each other and with their rows in the ledger. @param keys contracts and numbers */
export async function compareEvents(look: Look, keys: string[]): Promise<void> {
  look.findings.count('events', keys.length);
  look.findings.doubt(await look.rows<Doubt>(events.COMPARE_EVENTS, ...halves(keys)));
}

/** The rows of the ledger with their events, and the times that they have from these. */
export async function compareTimes(look: Look, ids: string[]): Promise<void> {
  const { findings } = look;
  findings.doubt(await look.rows<Doubt>(events.COMPARE_LEDGER_ROWS, ids));
  const byKind: TimeValue[][] = [];
  for (const each of events.TIMES) byKind.push(await differencesOf<TimeValue>(look, each, [ids]));
  const found = byKind.flat();
  const clear = unique(found.map(({ pool }) => pool)).filter((pool) => !findings.isDisputed(pool));
  const contested = clear.filter((pool) => found.some((each) => each.pool === pool && each.event));
  const { wrongEvents, doubtful } = await judge(look, contested);
  // What fits neither has another fault too, and nobody knows which times are right.
  findings.dispute(doubtful.filter((pool) => !wrongEvents.has(pool)));
  findings.doubt(
    found
      .filter(({ pool, event }) => event && wrongEvents.has(pool))
      .map(({ pool, event, kept, recount }) => ({
        kind: 'chain_events.block_time',
        id: event!,
        found: recount,
        wanted: kept,
        subjects: [pool],
      })),
  );
  const mendable = clear.filter((pool) => !doubtful.includes(pool));
  for (const [i, each] of events.TIMES.entries()) {
    const ofPools = (isChosen: (pool: string) => boolean): TimeValue[] =>
      byKind[i].filter(({ pool }) => isChosen(pool));
    await look.report(
      each.table,
      ofPools((pool) => mendable.includes(pool)),
      async () => {
        await look.client.query(LOCK_POOLS, [mendable]);
        await look.client.query(repairOf(each), [mendable]);
      },
    );
    await look.report(
      each.table,
      ofPools((pool) => findings.isDisputed(pool) && !wrongEvents.has(pool)),
    );
  }
}

/**
 * Where a row and its event have different times, the positions tell which is wrong: they were computed when the event
 * came. @returns pools whose positions do not follow from the events' times, and those of them where they follow from
 * the rows' times
 */
async function judge(look: Look, ids: string[]): Promise<{ doubtful: string[]; wrongEvents: Set<string> }> {
  const differing = async (some: string[], times: 'block' | 'ledger'): Promise<string[]> =>
    some.length === 0
      ? []
      : unique((await replayPositions(look, some, times)).differences.map(({ pool }) => pool));
  const doubtful = await differing(ids, 'block');
  const wrong = await differing(doubtful, 'ledger');
  return { doubtful, wrongEvents: new Set(doubtful.filter((pool) => !wrong.includes(pool))) };
}
