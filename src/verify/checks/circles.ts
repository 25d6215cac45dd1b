import { type Look, wordsOf } from './look';
import { type Model, type Row, compareModel } from './model-rows';
import { type CircleEvent, CircleModel } from './circle-model';

/** Parameters: contracts and ids of circles. */
const CIRCLES: Model = {
  tables: {
    circles: ['contract', 'circle_id'],
    circle_members: ['contract', 'circle_id', 'account'],
    circle_rounds: ['contract', 'circle_id', 'round'],
  },
  of: '(t.contract, t.circle_id) IN (SELECT * FROM unnest($1::text[], $2::numeric[]))',
  by: 2,
};

/** The circles that pools have, or should have. Parameter: pool ids. Row: contract and id as a key. */
const CIRCLES_OF_POOLS = `
  SELECT contract || ' ' || circle_id AS key FROM circles WHERE pool_id = ANY($1::uuid[])
  UNION
  SELECT contract || ' ' || circle_id FROM chain_events
  WHERE pool_id = ANY($1::uuid[]) AND kind = 'CircleOpened' AND outcome = 'APPLIED'`;

/** In the order of the chain. Parameters: contracts and ids of circles. */
const EVENTS = `
  SELECT e.kind, e.contract, e.circle_id::text AS circle, e.pool_id::text AS pool, e.account, e.amount::text,
    e.collateral::text, e.period::text, e.place::text, e.draw_time::text AS until, e.block_time::text AS time
  FROM unnest($1::text[], $2::numeric[]) AS w(contract, circle_id)
  JOIN chain_events e ON e.contract = w.contract AND e.circle_id = w.circle_id
  WHERE e.outcome = 'APPLIED' ORDER BY e.block_number, e.log_index`;

/** Compares the circles of pools with their events. Call it after the same checks as `comparePositions`. */
export async function compareCircles(look: Look, ids: string[]): Promise<void> {
  const circles = await look.column(CIRCLES_OF_POOLS, ids);
  if (circles.length === 0) return;
  await compareModel(look, CIRCLES, circles, async (keys) => {
    const models = new Map(keys.map((key) => [key, new CircleModel()]));
    for (const event of await look.rows<CircleEvent>(EVENTS, ...wordsOf(keys)))
      models.get(`${event.contract} ${event.circle}`)!.apply(event);
    const all = [...models.values()].map((model) => model.rows());
    const rowsOf = (table: string): [string, Row[]] => [table, all.flatMap((rows) => rows[table])];
    return Object.fromEntries(Object.keys(CIRCLES.tables).map(rowsOf));
  });
}
