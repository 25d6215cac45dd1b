/** What a replay reads, sorted by pool as text. All columns are text. */

/** SQL: 32 hex digits, as the rules compare ids. */
const compact = (id: string): string => `encode(uuid_send(${id}), 'hex')`;
/** SQL: nothing where it is null. */
const optional = (value: string): string => `coalesce(${value}::text, '')`;

/**
 * Nearly all of an event is one text, joined by blanks, none of which stands in a part: rows of many columns cost twice
 * as much to sort and to send.
 */
const EVENT = `concat_ws(' ', block_number, log_index, date_part('epoch', block_time)::bigint, contract,
  kind, ${optional(compact('ref'))}, ${optional('draw_id')}, ${optional('account')}, ${optional('amount')},
  ${optional('apr_bps')}, ${optional(`date_part('epoch', draw_time)::bigint`)}, outcome,
  ${optional(compact('transaction_id'))}, seq, ${optional('circle_id')}, ${optional('collateral')}, ${optional('period')},
  ${optional('place')}, ${optional('shares')}), reason`;

/**
 * The lotteries: contracts that are followed as such, or were when one of their draws was opened. An installation that follows one no
 * longer keeps its draws, as pools are kept. Parameter: their type.
 */
export const LOTTERIES = `
  SELECT address::text FROM chain_contracts WHERE type = $1
  UNION SELECT contract::text FROM chain_events WHERE kind = 'DrawOpened' AND outcome = 'APPLIED'`;

/** Sorts behind all ids: begins the key of events that name no pool, and is followed by their contract and draw. */
export const NO_POOL = '~';
const OF_NONE = `CASE WHEN e.pool_id IS NULL THEN concat_ws(' ', '${NO_POOL}', e.contract, e.draw_id) END`;
const events = (of: string): string =>
  `SELECT coalesce(pool_id::text, ${OF_NONE}), ${EVENT} FROM ${of} ORDER BY e.pool_id, ${OF_NONE}, e.block_number, e.log_index`;
/** Of one snapshot. */
export const EVENTS = events('chain_events e');
/** Parameters: pool ids; contracts and ids of draws, null for events that have neither. */
export const EVENTS_OF = events(`(
  SELECT * FROM chain_events WHERE pool_id = ANY($1::uuid[])
  UNION ALL
  SELECT e.* FROM unnest($2::text[], $3::numeric[]) AS w(contract, draw_id) JOIN chain_events e
    ON e.contract = w.contract AND e.draw_id = w.draw_id WHERE e.pool_id IS NULL
  UNION ALL
  SELECT e.* FROM unnest($2::text[], $3::numeric[]) AS w(contract, draw_id) JOIN chain_events e
    ON e.contract = w.contract WHERE w.draw_id IS NULL AND e.pool_id IS NULL AND e.draw_id IS NULL) e`);

const pools = (where: string): string => `
  SELECT p.id::text, p.contract_address::text, ${compact('t.id')}, t.account::text, t.requested_amount::text, u.address::text
  FROM pools p JOIN users u ON u.id = p.owner_id LEFT JOIN transactions t
    ON t.pool_id = p.id AND t.requested_amount IS NOT NULL AND t.type = 'DEPOSIT'
  ${where} ORDER BY p.id, t.id`;
/** With all deposits that were ever announced, as before any was paid: the oldest first. */
export const POOLS = pools('');
export const POOLS_OF = pools('WHERE p.id = ANY($1::uuid[])');

/** The last block that takes effect, and the number of events. */
export const REACH = `
  SELECT applied_number AS effective, (SELECT count(*) FROM chain_events) AS events FROM chain_cursor`;
/** The indexer applies nothing meanwhile. */
export const HOLD_CURSOR = 'SELECT applied_number AS effective FROM chain_cursor FOR UPDATE';
/** Nothing else writes the rows of these pools meanwhile. Parameter: pool ids. */
export const HOLD_POOLS = 'SELECT FROM pools WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE';
