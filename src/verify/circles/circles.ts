import type { Look, Value } from '#verify/checks/look';
import { LOCK_CURSOR } from '#verify/checks/lottery.sql';
import { compareRows, namesOf, writeRows } from '#verify/checks/model-rows';
import { type CircleEvent, CircleModel, type Rows } from './circle-model';
import * as sql from './circles.sql';

interface Key {
  contract: string;
  circle: string;
}
const nameOf = ({ contract, circle }: Key): string => `${contract} ${circle}`;
const parameters = (keys: Key[]): [string[], string[]] => [
  keys.map(({ contract }) => contract),
  keys.map(({ circle }) => circle),
];

/** Compares the circles of pools with their events, in one snapshot. Call it as for positions. */
export async function compareCircles(look: Look, ids: string[]): Promise<void> {
  const keys = await look.rows<Key>(sql.CIRCLES_OF_POOLS, ids);
  if (keys.length === 0) return;
  look.findings.count('circles', keys.length);
  const found = await look.reading(async () =>
    compareRows(look, sql.CIRCLES, parameters(keys), await wanted(look, keys)),
  );
  const repair = (): Promise<void> => write(look, keys, () => wanted(look, keys));
  for (const table of namesOf(sql.CIRCLES)) await look.report(table, found[table], repair);
}

/** What is kept of circles that do not exist. */
export async function compareNoCircles(look: Look): Promise<void> {
  const found = await look.rows<Value & Key & { table: string }>(sql.OF_NONE);
  for (const table of namesOf(sql.CIRCLES)) {
    const some = found.filter((each) => each.table === table);
    const none = { circles: [], circle_members: [], circle_rounds: [] };
    await look.report(table, some, () => write(look, found, () => Promise.resolve(none)));
  }
}

/** The rows that applied events make. */
async function wanted(look: Look, keys: Key[]): Promise<Rows> {
  const models = new Map(keys.map((key) => [nameOf(key), new CircleModel()]));
  for (const event of await look.rows<CircleEvent>(sql.EVENTS, ...parameters(keys)))
    models.get(nameOf(event))!.apply(event);
  const all = [...models.values()].map((model) => model.rows());
  return {
    circles: all.flatMap(({ circles }) => circles),
    circle_members: all.flatMap((rows) => rows.circle_members),
    circle_rounds: all.flatMap((rows) => rows.circle_rounds),
  };
}

/** The indexer waits for its end. */
async function write(look: Look, keys: Key[], rows: () => Promise<Rows>): Promise<void> {
  await look.client.query(LOCK_CURSOR);
  await writeRows(look, sql.CIRCLES, parameters(keys), await rows());
}
