-- Named statements of chain. Written by `npm run generate`.

-- src/ledger/chain/chain.sql.ts
PREPARE chain_facts AS
SELECT chain_id AS "chainId", token_address AS address, token_symbol AS symbol, token_decimals AS decimals,
     (SELECT json_object_agg(type, minimum::text) FROM (
       SELECT DISTINCT ON (type) type, minimum FROM chain_contracts ORDER BY type, position DESC) c) AS minimums,
     (SELECT json_object_agg(address, calls) FROM (SELECT DISTINCT address,
  (CASE WHEN circles THEN '["open","join","contribute","payout","refund","endRound","cancel"]'::jsonb
    WHEN calls IS NOT NULL THEN
      (SELECT coalesce(jsonb_agg(c.name ORDER BY c.name), '[]') FROM jsonb_object_keys(calls) AS c(name))
    WHEN pools_by <> 'reference' THEN '[]' ELSE '["deposit","withdraw","claim","compounding"]'::jsonb END)
  - CASE WHEN EXISTS (SELECT FROM chain_contracts_apart a WHERE a.address = c.address AND a.state = 'quarantined') THEN '{deposit,join,contribute}'::text[] ELSE '{}' END AS calls FROM chain_contracts c) c) AS calls,
     (SELECT json_agg(DISTINCT address ORDER BY address) FROM chain_contracts WHERE pools_by = 'account') AS "byAccount",
     (SELECT json_object_agg(contract, json_build_object('address', token, 'symbol', symbol, 'decimals', decimals))
       FROM chain_tokens) AS tokens
   FROM chain_facts;

-- src/ledger/chain/chain.sql.ts
PREPARE chain_state AS
SELECT state, (beat_at < now() - interval '15 seconds'
     OR progress_at < now() - interval '20 seconds') AS stale, applied_number::float8 AS block FROM chain_cursor;
