import type { Rows } from './circle-model';

export type Table = keyof Rows;

/** By which columns a row is known among those of a circle, and what is compared. */
export const TABLES: Record<Table, { key: string[]; columns: string[] }> = {
  circles: {
    key: [],
    columns: [
      'pool_id',
      'organiser',
      'contribution',
      'collateral',
      'period',
      'places',
      'join_by',
      'state',
      'rounds_ended',
      'round_end',
      'opened_at',
    ],
  },
  circle_members: {
    key: ['account'],
    columns: ['place', 'joined_at', 'collateral', 'paid', 'missed', 'won', 'paid_out', 'refunded'],
  },
  circle_rounds: { key: ['round'], columns: ['account', 'paid_count', 'ends_at', 'pot', 'ended_at'] },
};
export const TABLE_NAMES = Object.keys(TABLES) as Table[];

/** The circles that pools have, or should have. Parameter: pool ids. Rows: contract, circle, pool. */
export const CIRCLES_OF_POOLS = `
  SELECT contract, circle_id::text AS circle, pool_id::text AS pool FROM circles WHERE pool_id = ANY($1::uuid[])
  UNION
  SELECT contract, circle_id::text, pool_id::text FROM chain_events
  WHERE pool_id = ANY($1::uuid[]) AND kind = 'CircleOpened' AND outcome = 'APPLIED'`;

const WANTED = 'unnest($1::text[], $2::numeric[]) AS w(contract, circle_id)';
/** In the order of the chain. Parameters, here and below: contracts and ids of circles. */
export const EVENTS = `
  SELECT e.kind, e.contract, e.circle_id::text AS circle, e.pool_id::text AS pool, e.account, e.amount::text,
    e.collateral::text, e.period::text, e.place::text, e.draw_time::text AS until, e.block_time::text AS time
  FROM ${WANTED} JOIN chain_events e ON e.contract = w.contract AND e.circle_id = w.circle_id
  WHERE e.outcome = 'APPLIED' ORDER BY e.block_number, e.log_index`;

export const stored = (table: Table): string => `
  SELECT t.contract, t.circle_id::text, ${[...TABLES[table].key, ...TABLES[table].columns]
    .map((column) => `t.${column}::text`)
    .join(', ')}
  FROM ${WANTED} JOIN ${table} t ON t.contract = w.contract AND t.circle_id = w.circle_id`;

/** Parameters as above; the last makes sure that nothing else stands in the way. */
export const CLEAR = TABLE_NAMES.map(
  (table) =>
    `DELETE FROM ${table} t USING ${WANTED} WHERE t.contract = w.contract AND t.circle_id = w.circle_id`,
);
/** Parameter: rows as JSON, by the names of columns. */
export const insert = (table: Table): string =>
  `INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1::json)`;

/** What is kept of circles that do not exist. */
export const OF_NONE = `
  SELECT t.table, concat_ws(' ', t.contract, t.circle_id, t.key) AS id, 'circle_id' AS "column",
    t.circle_id::text AS kept, NULL AS recount, t.contract, t.circle_id::text AS circle
  FROM (
    SELECT 'circle_members' AS "table", contract, circle_id, account AS key FROM circle_members
    UNION ALL SELECT 'circle_rounds', contract, circle_id, round::text FROM circle_rounds
    UNION ALL SELECT 'circles', contract, circle_id, '' FROM circles c WHERE NOT EXISTS (
      SELECT FROM chain_events e WHERE e.pool_id = c.pool_id AND e.kind = 'CircleOpened')
  ) t
  WHERE t.table = 'circles' OR NOT EXISTS (
    SELECT FROM circles c WHERE c.contract = t.contract AND c.circle_id = t.circle_id)`;
