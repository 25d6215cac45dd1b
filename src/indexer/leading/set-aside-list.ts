import { connect } from './leader';

type SetAsideEvent = Record<string, string | number | null>;

/** Events that are stored without effect, newest first. Times are in ISO 8601. */
export async function setAsideEvents(databaseUrl: string, limit: number): Promise<SetAsideEvent[]> {
  const client = await connect(databaseUrl);
  const { rows } = await client
    .query<SetAsideEvent>(
      `SELECT outcome, reason, iso(block_time) AS time, block_number::float8 AS block, log_index::float8 AS "logIndex",
       kind, pool_id AS pool, draw_id::text AS draw, account, amount::text AS amount, contract, tx_hash AS "txHash"
     FROM chain_events WHERE outcome NOT IN ('WAITING', 'APPLIED')
     ORDER BY block_number DESC, log_index DESC LIMIT $1`,
      [limit],
    )
    .finally(() => client.end());
  return rows;
}

/** A line of headings, if there is any event, then one line for each, with fields separated by tabs. */
export const asTable = (events: SetAsideEvent[]): string =>
  [...events.slice(0, 1).map((event) => Object.keys(event)), ...events.map((event) => Object.values(event))]
    .map((fields) => `${fields.map((field) => field ?? '-').join('\t')}\n`)
    .join('');
