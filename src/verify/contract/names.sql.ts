/** SQL: whether the contract of event `e` does not number its events. */
export const UNNUMBERED =
  'EXISTS (SELECT FROM chain_contracts u WHERE u.address = e.contract AND NOT u.numbered)';

/** SQL: the id that an event has while no pool has the name that its contract gives the pool. */
export const standIn = (event: string, name = 'pool_name'): string =>
  `left(encode(sha256((${event}.contract || ' ' || ${event}.${name})::bytea), 'hex'), 32)::uuid`;

/** SQL: whether a row of pool_names has the name of an event. */
export const ofName = (row: string, event: string): string =>
  `${row}.contract = ${event}.contract AND ${row}.name = ${event}.pool_name`;

/**
 * Names of pools that no event explains: the one at that place opened the pool or, of an account's, was in it, for who
 * owns it, or the contract is that pool. Row: kind, id, found, wanted.
 */
export const COMPARE_NAMES = `
  SELECT 'pool_names.stand_in' AS kind, concat_ws(' ', n.contract, n.name) AS id, n.stand_in::text AS found,
    ${standIn('n', 'name')}::text AS wanted
  FROM pool_names n WHERE n.stand_in <> ${standIn('n', 'name')}
  UNION ALL
  SELECT CASE WHEN e.seq IS NULL THEN 'pool_names.block_number' ELSE 'pool_names.pool_id' END, concat_ws(' ', n.contract, n.name),
    CASE WHEN e.seq IS NULL THEN concat_ws(' ', n.block_number, n.log_index) ELSE n.pool_id::text END, NULL
  FROM pool_names n LEFT JOIN chain_events e ON e.block_number = n.block_number AND e.log_index = n.log_index
    AND ${ofName('n', 'e')} AND e.outcome <> 'WAITING'
  LEFT JOIN pools p ON p.id = n.pool_id LEFT JOIN users u ON u.id = p.owner_id
  WHERE e.seq IS NULL OR p.contract_address <> n.contract
    OR u.address <> CASE e.kind WHEN 'PoolOpened' THEN e.account END
    OR CASE WHEN EXISTS (SELECT FROM chain_contracts k WHERE k.address = n.contract AND k.pools_by = 'contract')
      THEN n.name <> n.contract
        OR NOT EXISTS (SELECT FROM chain_contracts k WHERE k.address = n.contract AND k.pool_id = n.pool_id)
      ELSE u.address <> CASE WHEN e.pool_name LIKE '0x%' THEN e.pool_name END END
    OR e.kind <> 'PoolOpened' AND e.pool_name NOT LIKE '0x%'`;

/** Contracts that are said to be a pool of another one, or know their pools otherwise. Row: kind, id, found, wanted. */
export const COMPARE_POOLS = `
  SELECT 'chain_contracts.pool_id' AS kind, k.address AS id, k.pool_id::text AS found,
    CASE WHEN k.pools_by <> 'contract' THEN NULL ELSE 'a pool of the contract' END AS wanted
  FROM chain_contracts k JOIN pools p ON p.id = k.pool_id
  WHERE k.pools_by <> 'contract' OR p.contract_address <> k.address`;
