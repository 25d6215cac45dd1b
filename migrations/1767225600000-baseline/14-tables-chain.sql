-- The indexer's state: its position on the chain, the contracts that it follows, the token, the last blocks, and every
-- event that it has read.

CREATE TABLE chain_cursor (
  id smallint NOT NULL DEFAULT 1,
  chain_id bigint NOT NULL,
  genesis_hash text COLLATE "C" NOT NULL,
  block_number bigint NOT NULL,
  block_hash text COLLATE "C" NOT NULL,
  block_time timestamptz(3) NOT NULL,
  applied_number bigint NOT NULL,
  -- The last block that endpoints call final and the cursor stands on. Null if none is known.
  finalized_number bigint,
  epoch bigint NOT NULL DEFAULT 0,
  head_number bigint NOT NULL DEFAULT 0,
  -- The contracts' counts prove that no event is missing up to this block.
  proven_number bigint NOT NULL DEFAULT 0,
  state text COLLATE "C" NOT NULL DEFAULT 'syncing',
  -- The last heartbeat, and the time when the cursor last moved or was confirmed to be at the head.
  beat_at timestamptz(3) NOT NULL,
  progress_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT chain_cursor_pkey PRIMARY KEY (id),
  CONSTRAINT chain_cursor_single_check CHECK (id = 1),
  CONSTRAINT chain_cursor_state_check CHECK (state IN ('synced', 'syncing', 'disconnected', 'halted'))
) WITH (fillfactor = 50);
COMMENT ON TABLE chain_cursor IS 'How far the indexer has read and applied the chain, and its state: one row';

CREATE TABLE chain_contracts (
  type text COLLATE "C" NOT NULL,
  address text COLLATE "C" NOT NULL,
  position smallint NOT NULL,
  from_block bigint NOT NULL,
  -- The contract's smallest deposit. Null until it was read, or for good if it has none.
  minimum numeric(78,0),
  -- Whether it holds savings circles. Null until it was read.
  circles boolean,
  -- How its events name pools, and whether they are numbered: what its adapter, a class, says;
  -- with the functions that give an account's balance and the pool's, and those that a wallet calls, by
  -- what they do. No calls: those of the reference contracts, if it knows pools by the service's ids.
  pools_by text COLLATE "C" NOT NULL DEFAULT 'reference',
  numbered boolean NOT NULL DEFAULT true,
  adapter text NOT NULL DEFAULT 'ReferencePool',
  balance_view text,
  total_view text,
  calls jsonb,
  -- Of vaults: the function that says what shares are worth.
  price_view text,
  -- Of a contract that is one pool: that pool, the first that was made for it.
  pool_id uuid,
  CONSTRAINT chain_contracts_pkey PRIMARY KEY (type, address),
  CONSTRAINT chain_contracts_pool_id_fkey FOREIGN KEY (pool_id) REFERENCES pools (id) ON DELETE SET NULL,
  CONSTRAINT chain_contracts_address_check CHECK (is_address(address))
);
COMMENT ON TABLE chain_contracts IS
  'The contracts that are followed: pool type, position among the contracts of that type (new pools get the last '
  'one), and first block';

CREATE TABLE chain_contracts_apart (
  address text COLLATE "C" NOT NULL,
  block_number bigint NOT NULL,
  block_hash text COLLATE "C" NOT NULL,
  block_time timestamptz(3) NOT NULL,
  state text COLLATE "C" NOT NULL,
  reason text NOT NULL,
  since timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT chain_contracts_apart_pkey PRIMARY KEY (address),
  CONSTRAINT chain_contracts_apart_address_check CHECK (is_address(address)),
  CONSTRAINT chain_contracts_apart_state_check CHECK (state IN ('catching_up', 'quarantined'))
) WITH (fillfactor = 50);
COMMENT ON TABLE chain_contracts_apart IS
  'Contracts whose events are read apart from the cursor''s, up to a block of their own, until they reach it';

CREATE TABLE chain_facts (
  id smallint NOT NULL DEFAULT 1,
  chain_id bigint NOT NULL,
  token_address text COLLATE "C",
  token_symbol text,
  token_decimals smallint,
  CONSTRAINT chain_facts_pkey PRIMARY KEY (id),
  CONSTRAINT chain_facts_single_check CHECK (id = 1),
  CONSTRAINT chain_facts_token_check CHECK (
    num_nulls(token_address, token_symbol, token_decimals) IN (0, 3) AND is_address(token_address)
  )
);
COMMENT ON TABLE chain_facts IS
  'What the indexer read from the chain at startup: one row. The token is the first of the contracts'', in which sums '
  'over pools are told, and null until it has been read';

CREATE TABLE chain_tokens (
  contract text COLLATE "C" NOT NULL,
  token text COLLATE "C" NOT NULL,
  symbol text NOT NULL,
  decimals smallint NOT NULL,
  CONSTRAINT chain_tokens_pkey PRIMARY KEY (contract),
  CONSTRAINT chain_tokens_address_check CHECK (is_address(contract) AND is_address(token))
);
COMMENT ON TABLE chain_tokens IS
  'The token of each contract that is or was followed, as the indexer read it from the chain';

CREATE TABLE chain_proofs (
  contract text COLLATE "C" NOT NULL,
  from_number bigint NOT NULL,
  to_number bigint NOT NULL,
  CONSTRAINT chain_proofs_pkey PRIMARY KEY (contract, from_number),
  CONSTRAINT chain_proofs_contract_check CHECK (is_address(contract)),
  CONSTRAINT chain_proofs_order_check CHECK (from_number <= to_number)
) WITH (fillfactor = 50);
COMMENT ON TABLE chain_proofs IS
  'Stretches of blocks in which headers and receipts prove that no event of a contract without numbers is '
  'missing';

CREATE TABLE chain_blocks (
  number bigint NOT NULL,
  hash text COLLATE "C" NOT NULL,
  parent_hash text COLLATE "C" NOT NULL,
  time timestamptz(3) NOT NULL,
  CONSTRAINT chain_blocks_pkey PRIMARY KEY (number)
);
COMMENT ON TABLE chain_blocks IS
  'The last blocks before the cursor, to find the last common one after a reorganisation';

CREATE TABLE chain_events (
  block_number bigint NOT NULL,
  log_index bigint NOT NULL,
  block_hash text COLLATE "C" NOT NULL,
  block_time timestamptz(3) NOT NULL,
  tx_hash text COLLATE "C" NOT NULL,
  contract text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  kind text COLLATE "C" NOT NULL,
  -- Without a pool for its name, an id that stands for it: see pool_stand_in.
  pool_id uuid,
  -- The contract's own name for the pool, a number or an account. Null where its events have the pool's id.
  pool_name text COLLATE "C",
  ref uuid,
  draw_id numeric(20,0),
  account text COLLATE "C",
  amount numeric(78,0),
  -- What the contract kept of a claim, beside the amount.
  fee numeric(78,0),
  apr_bps bigint,
  draw_time timestamptz(3),
  circle_id numeric(20,0),
  collateral numeric(78,0),
  period bigint,
  place bigint,
  -- Of a vault: of how many shares the amount is. Zero beside another event of the same log, which has them.
  shares numeric(78,0),
  outcome text COLLATE "C" NOT NULL DEFAULT 'WAITING',
  reason text,
  transaction_id uuid,
  CONSTRAINT chain_events_pkey PRIMARY KEY (block_number, log_index),
  CONSTRAINT chain_events_seq_key UNIQUE (contract, seq),
  CONSTRAINT chain_events_outcome_check
    CHECK (outcome IN ('WAITING', 'APPLIED', 'UNKNOWN_POOL', 'OVERDRAW', 'REFUSED', 'FAILED'))
);
-- In the order of the chain, because a pool that appears late takes up a bounded number of them at a time.
CREATE INDEX chain_events_unknown_pool_idx ON chain_events (pool_id, block_number, log_index)
  WHERE outcome = 'UNKNOWN_POOL';
-- Events of pools that have a name alone, and the openings of these by their accounts.
CREATE INDEX chain_events_unnamed_idx ON chain_events (pool_id)
  WHERE outcome = 'UNKNOWN_POOL' AND pool_name IS NOT NULL;
CREATE INDEX chain_events_unopened_idx ON chain_events (contract, account)
  WHERE outcome IN ('UNKNOWN_POOL', 'WAITING') AND kind = 'PoolOpened';
CREATE INDEX chain_events_named_idx ON chain_events (block_number, log_index) WHERE pool_name IS NOT NULL;
CREATE INDEX chain_events_draw_id_idx ON chain_events (contract, draw_id) WHERE draw_id IS NOT NULL;
CREATE INDEX chain_events_draw_stage_idx ON chain_events (contract, draw_id)
  WHERE kind IN ('DrawOpened', 'DrawClosed', 'DrawCancelled', 'DrawCompleted', 'PrizePaid');
CREATE INDEX chain_events_circle_id_idx ON chain_events (contract, circle_id) WHERE circle_id IS NOT NULL;
CREATE INDEX chain_events_circle_opened_idx ON chain_events (pool_id) WHERE kind = 'CircleOpened';
CREATE INDEX chain_events_waiting_idx ON chain_events (block_number) WHERE outcome = 'WAITING';
CREATE INDEX chain_events_set_aside_idx ON chain_events (block_number, log_index)
  WHERE outcome NOT IN ('WAITING', 'APPLIED');
CREATE INDEX chain_events_not_in_ledger_idx ON chain_events (pool_id)
  WHERE outcome IN ('OVERDRAW', 'REFUSED', 'FAILED');
-- What accounts paid in for ids that no pool of the contract has.
CREATE INDEX chain_events_stray_idx ON chain_events (account, contract, pool_id)
  WHERE outcome IN ('UNKNOWN_POOL', 'REFUSED') AND kind IN ('Deposited', 'Withdrawn');
-- Whose yield is paid in again: the latest of these says it.
CREATE INDEX chain_events_compounding_idx ON chain_events (pool_id, account, block_number, log_index)
  WHERE outcome = 'APPLIED' AND kind IN ('CompoundingStarted', 'CompoundingStopped');
-- The events from which a holding of a vault follows.
CREATE INDEX chain_events_shares_idx ON chain_events (contract, account, block_number, log_index)
  WHERE shares IS NOT NULL;
COMMENT ON TABLE chain_events IS
  'Every event that was read, by place on the chain, and what came of it. Everything derived from the chain can '
  'be made anew from it';

CREATE TABLE pool_names (
  stand_in uuid NOT NULL,
  contract text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  pool_id uuid NOT NULL,
  block_number bigint NOT NULL,
  log_index bigint NOT NULL,
  CONSTRAINT pool_names_pkey PRIMARY KEY (stand_in),
  CONSTRAINT pool_names_pool_id_key UNIQUE (pool_id),
  CONSTRAINT pool_names_pool_id_fkey FOREIGN KEY (pool_id) REFERENCES pools (id)
);
CREATE INDEX pool_names_block_number_idx ON pool_names (block_number);
COMMENT ON TABLE pool_names IS
  'Derived: the pools that contracts know by a number or an account, or that they are, from the event that opened each, '
  'or that was its first';

CREATE TABLE share_holdings (
  vault address NOT NULL,
  account address NOT NULL,
  shares sum_from_zero NOT NULL,
  -- What was paid in for the shares and has not been paid out, in the smallest unit of the vault's asset.
  cost sum_from_zero NOT NULL,
  CONSTRAINT share_holdings_pkey PRIMARY KEY (vault, account)
) WITH (fillfactor = 80);
COMMENT ON TABLE share_holdings IS
  'Derived: the shares that accounts have of vaults, and what they have cost, from all events that were read';

-- Only told, so a wrong one holds nothing up: verification finds it.
CREATE TABLE share_totals (
  vault address NOT NULL,
  shares numeric NOT NULL,
  cost numeric NOT NULL,
  CONSTRAINT share_totals_pkey PRIMARY KEY (vault)
) WITH (fillfactor = 50);
COMMENT ON TABLE share_totals IS
  'Derived: what all accounts have of a vault, and what it has cost: the sums of share_holdings that have shares';

CREATE TABLE share_prices (
  vault address NOT NULL,
  -- Of the block, in UTC.
  day date NOT NULL,
  block_number bigint NOT NULL,
  block_time timestamptz(3) NOT NULL,
  -- What 10^36 shares are worth, in the smallest unit of the vault's asset.
  price numeric(78,0) NOT NULL,
  CONSTRAINT share_prices_pkey PRIMARY KEY (vault, day)
) WITH (fillfactor = 50);
COMMENT ON TABLE share_prices IS
  'What vaults say that their shares are worth: the last price of each of the last days, at a block in effect';

CREATE TABLE receipt_waits (
  block_number bigint NOT NULL,
  block_hash text COLLATE "C" NOT NULL,
  tries smallint NOT NULL,
  check_at timestamptz(3) NOT NULL,
  CONSTRAINT receipt_waits_pkey PRIMARY KEY (block_number)
) WITH (fillfactor = 70);
COMMENT ON TABLE receipt_waits IS
  'Blocks whose receipts no endpoint had when they were last asked for: how often, and when they are asked for '
  'again';

CREATE TABLE set_aside_counts (
  outcome text COLLATE "C" NOT NULL,
  count bigint NOT NULL,
  CONSTRAINT set_aside_counts_pkey PRIMARY KEY (outcome)
);
COMMENT ON TABLE set_aside_counts IS 'Derived: number of events that are stored without effect, by outcome';
