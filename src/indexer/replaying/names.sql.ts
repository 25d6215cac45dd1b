import { MOVES_MONEY } from '#indexer/reading/money';

/** The statements that rebuild the names of pools from the events. Parameter of each: the last block in effect. */

/** SQL: whether row `n` has the number of a pool, or a name that has had money: other events open no such pool. */
const HAD_MONEY = (n: string, name: string): string => `(${n}.${name} NOT LIKE '0x%' OR EXISTS (SELECT FROM (
    SELECT * FROM chain_events e WHERE e.pool_name LIKE '0x%' AND e.block_number <= $1 AND ${MOVES_MONEY}) m
  WHERE m.contract = ${n}.contract AND m.pool_name = ${n}.${name}))`;
/** SQL: whose pool event `e` opens: an account's pool by any event, if one moved money. */
const OPENER = `CASE WHEN e.pool_name LIKE '0x%' THEN e.pool_name WHEN e.kind = 'PoolOpened' THEN e.account END`;
/** SQL: the pools that event `e` may have opened: its account's, or the contract's own. */
const ITS_POOL = `p.contract_address = e.contract AND CASE
  WHEN EXISTS (SELECT FROM chain_contracts k WHERE k.address = e.contract AND k.pools_by = 'contract')
  THEN e.pool_name = e.contract AND EXISTS (SELECT FROM chain_contracts k WHERE k.address = e.contract AND k.pool_id = p.id)
  ELSE p.owner_id = (SELECT id FROM users u WHERE u.address = ${OPENER}) END`;

/** Names that no event made, or for another account's pool. */
const REMOVE = `
  DELETE FROM pool_names n WHERE n.stand_in <> pool_stand_in(n.contract, n.name) OR NOT ${HAD_MONEY('n', 'name')}
    OR NOT EXISTS (SELECT FROM chain_events e JOIN pools p ON p.id = n.pool_id AND ${ITS_POOL}
      WHERE e.block_number = n.block_number AND e.log_index = n.log_index AND e.contract = n.contract
        AND e.pool_name = n.name AND e.block_number <= $1)`;

/** Names that are missing, by the first event that has the pool. */
const ADD = `
  INSERT INTO pool_names (stand_in, contract, name, pool_id, block_number, log_index)
  SELECT DISTINCT ON (e.contract, e.pool_name) pool_stand_in(e.contract, e.pool_name), e.contract, e.pool_name, p.id,
    e.block_number, e.log_index
  FROM chain_events e JOIN pools p ON p.id = e.pool_id AND ${ITS_POOL}
  WHERE e.pool_name IS NOT NULL AND e.block_number <= $1 AND ${HAD_MONEY('e', 'pool_name')}
    AND NOT EXISTS (SELECT FROM pool_names n WHERE n.pool_id = p.id OR n.stand_in = pool_stand_in(e.contract, e.pool_name))
  ORDER BY e.contract, e.pool_name, e.block_number, e.log_index`;

/** Events that have another pool than that of their name. */
const RENAME = `
  UPDATE chain_events c SET pool_id = r.id FROM (
    SELECT e.block_number, e.log_index, coalesce(n.pool_id, pool_stand_in(e.contract, e.pool_name)) AS id
    FROM chain_events e LEFT JOIN pool_names n ON n.stand_in = pool_stand_in(e.contract, e.pool_name)
    WHERE e.pool_name IS NOT NULL AND e.block_number <= $1
  ) r WHERE c.block_number = r.block_number AND c.log_index = r.log_index AND c.pool_id IS DISTINCT FROM r.id`;

/** In this order. */
export const CORRECT_NAMES = [REMOVE, ADD, RENAME];
