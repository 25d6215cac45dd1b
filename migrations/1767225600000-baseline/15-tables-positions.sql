-- What each account holds and has earned in a pool, as the contract counts it. The indexer replays the contract's
-- arithmetic, so these are the contract's own variables. They are numeric without a limit, because rates exceed
-- uint256.

CREATE TABLE positions (
  pool_id uuid NOT NULL,
  address text COLLATE "C" NOT NULL,
  balance numeric NOT NULL,
  -- The weight at a time in seconds is balance * time - weight_offset.
  weight_offset numeric NOT NULL,
  -- Unclaimed yield of the pool's first `accruals` accruals.
  owed numeric NOT NULL,
  accruals integer NOT NULL,
  deposited numeric NOT NULL,
  withdrawn numeric NOT NULL,
  claimed numeric NOT NULL,
  CONSTRAINT positions_pkey PRIMARY KEY (pool_id, address)
) WITH (fillfactor = 80);
CREATE INDEX positions_address_idx ON positions (address, pool_id);
COMMENT ON TABLE positions IS 'Derived: what the contract of a pool counts for an account, from its events';

CREATE TABLE pool_weights (
  pool_id uuid NOT NULL,
  total numeric NOT NULL,
  weight_offset numeric NOT NULL,
  accruals integer NOT NULL,
  last_time bigint NOT NULL,
  last_per_unit numeric NOT NULL,
  CONSTRAINT pool_weights_pkey PRIMARY KEY (pool_id)
) WITH (fillfactor = 80);
COMMENT ON TABLE pool_weights IS 'Derived: what the contract counts for the whole of a pool, and its last accrual';

CREATE TABLE accrual_rates (
  pool_id uuid NOT NULL,
  number integer NOT NULL,
  time bigint NOT NULL,
  per_weight numeric NOT NULL,
  per_unit numeric NOT NULL,
  CONSTRAINT accrual_rates_pkey PRIMARY KEY (pool_id, number)
);
COMMENT ON TABLE accrual_rates IS
  'Derived: time in seconds of each accrual of a pool, and its yield, times 2^128, for a unit of weight and, with all '
  'before it, for a token unit';

CREATE TABLE position_journal (
  block_number bigint NOT NULL,
  pool_id uuid NOT NULL,
  address text COLLATE "C" NOT NULL,
  former jsonb,
  CONSTRAINT position_journal_pkey PRIMARY KEY (block_number, pool_id, address)
);
COMMENT ON TABLE position_journal IS
  'Rows of positions and (address empty) of pool_weights as they were before a block, null if there was none, for the '
  'last blocks, which may be undone';
