import { OTHER_PLACE } from './shares';

/** Columns of an event that the chain says, as text, beside its place. */
export const COLUMNS = [
  'block_hash',
  'block_time',
  'tx_hash',
  'contract',
  'seq',
  'kind',
  'pool_id',
  'pool_name',
  'ref',
  'draw_id',
  'account',
  'amount',
  'fee',
  'remaining',
  'apr_bps',
  'draw_time',
  'circle_id',
  'collateral',
  'period',
  'place',
  'shares',
] as const;
export type EventColumn = (typeof COLUMNS)[number];

const seconds = (column: string): string => `extract(epoch FROM ${column})::bigint`;

/** Events in the order of the chain. Parameters: block and log index to go on after, limit. Row: both as a key. */
export const NEXT_STORED = `
  SELECT concat_ws(' ', block_number, log_index) AS key FROM chain_events
  WHERE (block_number, log_index) > ($1::bigint, $2::bigint) ORDER BY block_number, log_index LIMIT $3`;

/**
 * Events as of the cursor. Parameters: blocks and log indexes. Row: where the cursor stands, block and log index, the
 * columns as text, times in seconds; whether the contract is of this repository (of others, only their adapters know
 * what events say), a vault, and one pool. Of vaults, the amount of the other row that the same log has become.
 */
export const STORED_EVENTS = `
  SELECT c.block_number AS "cursorNumber", c.block_hash AS "cursorHash", e.block_number AS block, e.log_index AS index,
    NOT EXISTS (SELECT FROM chain_contracts k WHERE k.address = e.contract AND k.adapter <> 'ReferencePool') AS "isOurs",
    EXISTS (SELECT FROM chain_contracts k WHERE k.address = e.contract AND k.adapter = 'Vault') AS "isVault",
    EXISTS (SELECT FROM chain_contracts k WHERE k.address = e.contract AND k.pools_by = 'contract') AS "isPool",
    CASE WHEN e.shares IS NOT NULL THEN (SELECT o.amount::text FROM chain_events o WHERE o.block_number = e.block_number
      AND o.log_index = ${OTHER_PLACE} AND o.contract = e.contract) END AS "otherAmount",
    ${COLUMNS.map((column) => `${column.endsWith('_time') ? seconds(`e.${column}`) : `e.${column}`}::text AS "${column}"`).join(', ')}
  FROM chain_cursor c CROSS JOIN unnest($1::bigint[], $2::bigint[]) AS w(block, index)
  JOIN chain_events e ON e.block_number = w.block AND e.log_index = w.index ORDER BY e.block_number, e.log_index`;

/** The stored blocks. Parameters: the number to go on after, limit. */
export const NEXT_BLOCKS =
  'SELECT number FROM chain_blocks WHERE number > $1::bigint ORDER BY number LIMIT $2';
/** Row: where the cursor stands, number, hash, parent hash, time in seconds. Parameter: numbers. */
export const BLOCKS = `
  SELECT c.block_number AS "cursorNumber", c.block_hash AS "cursorHash", b.number, b.hash, b.parent_hash,
    ${seconds('b.time')}::text AS time
  FROM chain_cursor c CROSS JOIN chain_blocks b WHERE b.number = ANY($1::bigint[]) AND b.number <= c.block_number`;
