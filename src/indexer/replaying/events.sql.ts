/** What a replay reads, each sorted by pool as text or by place on the chain. All columns are text. */

/** SQL: 32 hex digits, as the rules compare ids. */
const compact = (id: string): string => `encode(uuid_send(${id}), 'hex')`;
/** SQL: nothing where it is null. */
const optional = (value: string): string => `coalesce(${value}::text, '')`;

/**
 * Nearly all of an event is one text, joined by blanks, none of which stands in a part: rows of many columns cost twice
 * as much to sort and to send.
 */
const EVENT = `pool_id::text, concat_ws(' ', block_number, log_index, date_part('epoch', block_time)::bigint, contract,
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

/** Of one snapshot. */
export const EVENTS = `
  SELECT ${EVENT} FROM chain_events e WHERE pool_id IS NOT NULL ORDER BY e.pool_id, e.block_number, e.log_index`;
/** Parameter: pool ids. */
export const EVENTS_OF = `
  SELECT ${EVENT} FROM chain_events e WHERE pool_id = ANY($1::uuid[]) ORDER BY e.pool_id, e.block_number, e.log_index`;
/** Events of no pool. Parameters: block and log index to continue behind, how many. */
export const EVENTS_OF_NONE = `
  SELECT ${EVENT} FROM chain_events e WHERE pool_id IS NULL AND (block_number, log_index) > ($1::bigint, $2::bigint)
  ORDER BY e.block_number, e.log_index LIMIT $3`;

const pools = (where: string): string => `
  SELECT p.id::text, p.contract_address::text, ${compact('t.id')}, t.account::text, t.requested_amount::text, u.address::text
  FROM pools p JOIN users u ON u.id = p.owner_id LEFT JOIN transactions t
    ON t.pool_id = p.id AND t.requested_amount IS NOT NULL AND t.type = 'DEPOSIT'
  ${where} ORDER BY p.id, t.id`;
/** With all deposits that were ever announced, as before any was paid: the oldest first. */
export const POOLS = pools('');
export const POOLS_OF = pools('WHERE p.id = ANY($1::uuid[])');

/** Numbers joined by blanks, in the order of `positionText`, `weightsText` and `rateText`. */
export const POSITIONS = `
  SELECT pool_id::text, address, concat_ws(' ', balance, weight_offset, owed, accruals, deposited, withdrawn, claimed)
  FROM positions x ORDER BY x.pool_id`;
export const WEIGHTS = `
  SELECT pool_id::text, concat_ws(' ', total, weight_offset, accruals, last_time, last_per_unit)
  FROM pool_weights x ORDER BY x.pool_id`;
export const RATES = `
  SELECT pool_id::text, number::text, concat_ws(' ', time, per_weight, per_unit) FROM accrual_rates x ORDER BY x.pool_id`;
export const JOURNAL = `
  SELECT pool_id::text, concat_ws(' ', block_number, address), former::text FROM position_journal x ORDER BY x.pool_id`;

/** The last block that takes effect, and the number of events. */
export const REACH = `
  SELECT applied_number AS effective, (SELECT count(*) FROM chain_events) AS events FROM chain_cursor`;
/** The indexer applies nothing meanwhile. */
export const HOLD_CURSOR = 'SELECT applied_number AS effective FROM chain_cursor FOR UPDATE';
/** Nothing else writes the rows of these pools meanwhile. Parameter: pool ids. */
export const HOLD_POOLS = 'SELECT FROM pools WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE';
