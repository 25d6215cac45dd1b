import { type Look, type Value, halves, unique } from './look';
import { LOCK_CURSOR } from './events.sql';
import { compareRows, namesOf, writeRows } from './model-rows';
import { type CircleEvent, CircleModel, type Rows } from './circle-model';
import * as sql from './circles.sql';

/** Compares the circles of pools with their events, in one snapshot. Call it as for positions. */
export async function compareCircles(look: Look, ids: string[]): Promise<void> {
  const keys = await look.column(sql.CIRCLES_OF_POOLS, ids);
  if (keys.length === 0) return;
  look.findings.count('circles', keys.length);
  const found = await look.reading(async () =>
    compareRows(look, sql.CIRCLES, halves(keys), await wanted(look, keys)),
  );
  const repair = (): Promise<void> => write(look, keys, () => wanted(look, keys));
  for (const table of namesOf(sql.CIRCLES)) await look.report(table, found[table], repair);
}

/** What is kept of circles that do not exist. */
export async function compareNoCircles(look: Look): Promise<void> {
  const found = await look.rows<Value & { table: string; circle: string }>(sql.OF_NONE);
  const keys = unique(found.map(({ circle }) => circle));
  for (const table of namesOf(sql.CIRCLES)) {
    const some = found.filter((each) => each.table === table);
    const none = { circles: [], circle_members: [], circle_rounds: [] };
    await look.report(table, some, () => write(look, keys, () => Promise.resolve(none)));
  }
}

/** The rows that applied events make. */
async function wanted(look: Look, keys: string[]): Promise<Rows> {
  const models = new Map(keys.map((key) => [key, new CircleModel()]));
  for (const event of await look.rows<CircleEvent>(sql.EVENTS, ...halves(keys)))
    models.get(`${event.contract} ${event.circle}`)!.apply(event);
  const all = [...models.values()].map((model) => model.rows());
  return {
    circles: all.flatMap(({ circles }) => circles),
    circle_members: all.flatMap((rows) => rows.circle_members),
    circle_rounds: all.flatMap((rows) => rows.circle_rounds),
  };
}

/** The indexer waits for its end. */
async function write(look: Look, keys: string[], rows: () => Promise<Rows>): Promise<void> {
  await look.client.query(LOCK_CURSOR);
  await writeRows(look, sql.CIRCLES, halves(keys), await rows());
}
