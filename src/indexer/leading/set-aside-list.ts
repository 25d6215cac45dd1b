import type { EventOutcome } from '#indexer/ledger/decide';
import { connect } from './leader';

export interface SetAsideEvent {
  outcome: EventOutcome;
  reason: string | null;
  contract: string;
  block: number;
  logIndex: number;
  /** ISO 8601. */
  time: string;
  txHash: string;
  kind: string;
  pool: string | null;
  draw: string | null;
  account: string | null;
  amount: string | null;
}

/** Events that are stored without effect, newest first. */
export async function setAsideEvents(databaseUrl: string, limit: number): Promise<SetAsideEvent[]> {
  const client = await connect(databaseUrl);
  const { rows } = await client
    .query<SetAsideEvent>(
      `SELECT outcome, reason, contract, block_number::float8 AS block, log_index::float8 AS "logIndex",
       iso(block_time) AS time, tx_hash AS "txHash", kind, pool_id AS pool, draw_id::text AS draw, account,
       amount::text AS amount
     FROM chain_events WHERE outcome NOT IN ('WAITING', 'APPLIED')
     ORDER BY block_number DESC, log_index DESC LIMIT $1`,
      [limit],
    )
    .finally(() => client.end());
  return rows;
}

const HEADINGS: (keyof SetAsideEvent)[] = [
  'outcome',
  'reason',
  'time',
  'block',
  'logIndex',
  'kind',
  'pool',
  'draw',
  'account',
  'amount',
  'contract',
  'txHash',
];

/** A line of headings, then one line for each event, with fields separated by tabs. */
export const asTable = (events: SetAsideEvent[]): string =>
  [HEADINGS, ...events.map((event) => HEADINGS.map((name) => event[name] ?? '-'))]
    .map((fields) => `${fields.join('\t')}\n`)
    .join('');
