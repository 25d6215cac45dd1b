-- The ledger: one row for every deposit, withdrawal, claim and accrual. Triggers derive the totals from it. And what
-- payers told of deposits that are not paid yet: it does not say what the chain says, since a payment confirms its
-- deposit whatever hash was told.

CREATE TABLE transactions (
  id uuid NOT NULL,
  pool_id uuid NOT NULL,
  owner_id uuid NOT NULL,
  by_owner boolean NOT NULL,
  type transaction_type NOT NULL,
  status transaction_status NOT NULL,
  account address NOT NULL,
  amount amount NOT NULL,
  requested_amount amount,
  tx_hash text COLLATE "C",
  block_number bigint,
  log_index integer,
  gas_used numeric(78,0),
  gas_price numeric(78,0),
  l1_fee numeric(78,0),
  created_at timestamptz(3) NOT NULL,
  confirmed_at timestamptz(3),
  CONSTRAINT transactions_pkey PRIMARY KEY (id),
  -- No foreign key: the triggers that keep the totals check that the pool exists.
  CONSTRAINT transactions_confirmed_check CHECK (
    (status = 'CONFIRMED') = (tx_hash IS NOT NULL AND block_number IS NOT NULL AND log_index IS NOT NULL)
  )
) WITH (fillfactor = 90);
CREATE INDEX transactions_pool_id_idx ON transactions (pool_id, type, id);
CREATE INDEX transactions_owner_id_idx ON transactions (owner_id, type, id);
CREATE INDEX transactions_outside_idx ON transactions (account, type, id, pool_id) WHERE NOT by_owner;
CREATE INDEX transactions_tx_hash_idx ON transactions (tx_hash, log_index) WHERE tx_hash IS NOT NULL;
CREATE INDEX transactions_pending_idx ON transactions (created_at) WHERE status = 'PENDING';
CREATE INDEX transactions_unconfirmed_idx ON transactions (pool_id) WHERE status IN ('PENDING', 'EXPIRED');
CREATE INDEX transactions_unconfirmed_owner_idx ON transactions (owner_id, status, id)
  WHERE status IN ('PENDING', 'EXPIRED');
CREATE INDEX transactions_unconfirmed_outside_idx ON transactions (account, status, id)
  WHERE status IN ('PENDING', 'EXPIRED') AND NOT by_owner;
CREATE INDEX transactions_gas_idx ON transactions (block_number)
  WHERE status = 'CONFIRMED' AND gas_used IS NULL;
COMMENT ON COLUMN transactions.owner_id IS 'Of the pool, here too so that one index serves an owner''s list';
COMMENT ON COLUMN transactions.by_owner IS 'Whether the account is the owner''s';
CREATE INDEX transactions_expired_idx ON transactions (created_at) WHERE status = 'EXPIRED';
COMMENT ON TABLE transactions IS
  'The ledger: a row for every deposit, withdrawal and claim, announced or on the chain';

CREATE TABLE yield_accruals (
  block_number bigint NOT NULL,
  log_index integer NOT NULL,
  pool_id uuid NOT NULL,
  amount amount NOT NULL,
  apr_bps bigint NOT NULL,
  accrued_at timestamptz(3) NOT NULL,
  CONSTRAINT yield_accruals_pkey PRIMARY KEY (pool_id, block_number, log_index),
  CONSTRAINT yield_accruals_pool_id_fkey FOREIGN KEY (pool_id) REFERENCES pools (id)
);
COMMENT ON TABLE yield_accruals IS 'The ledger: a row for every accrual of yield to a pool';

CREATE TABLE submissions (
  transaction_id uuid NOT NULL,
  account address NOT NULL,
  hash text COLLATE "C" NOT NULL,
  at timestamptz(3) NOT NULL,
  check_at timestamptz(3) NOT NULL,
  checks smallint NOT NULL DEFAULT 0,
  known boolean NOT NULL DEFAULT false,
  sender text COLLATE "C",
  nonce bigint,
  CONSTRAINT submissions_pkey PRIMARY KEY (transaction_id)
) WITH (fillfactor = 70);
CREATE INDEX submissions_account_idx ON submissions (account, check_at);
COMMENT ON TABLE submissions IS
  'Of deposits that are not on the chain yet: the hash of the payment, as the payer told it, or as a reorganisation '
  'took it back';
COMMENT ON COLUMN submissions.checks IS
  'How often in a row the indexer has found the same: that the chain''s nodes know the hash, or that they do not';
