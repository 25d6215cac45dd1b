-- What the ledger's triggers keep, so that readers need not add it up. Amounts are summed for each contract, because a
-- contract has one token, and amounts of two tokens never meet in one sum.

CREATE TABLE account_days (
  address text COLLATE "C" NOT NULL,
  day date NOT NULL,
  contract text COLLATE "C" NOT NULL,
  writer smallint NOT NULL,
  deposited numeric NOT NULL DEFAULT 0,
  pending numeric NOT NULL DEFAULT 0,
  claimed numeric NOT NULL DEFAULT 0,
  deposits integer NOT NULL DEFAULT 0,
  withdrawals integer NOT NULL DEFAULT 0,
  claims integer NOT NULL DEFAULT 0,
  CONSTRAINT account_days_pkey PRIMARY KEY (address, day, contract, writer)
) WITH (fillfactor = 70);
COMMENT ON TABLE account_days IS
  'Derived: per UTC day and contract what an address deposited and claimed, and how many transactions it may list as '
  'owner or as an outsider who paid; a row each for the indexer (0) and all others (1), so that they never wait for '
  'each other';

CREATE TABLE member_streams (
  pool_id uuid NOT NULL,
  address text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  first_id uuid NOT NULL,
  last_id uuid NOT NULL,
  CONSTRAINT member_streams_pkey PRIMARY KEY (pool_id, address, type, status)
);
CREATE INDEX member_streams_last_idx ON member_streams (address, type, status, last_id, first_id, pool_id);
COMMENT ON TABLE member_streams IS
  'Derived: the first and the newest transaction of each type and status in the pool of an indexed membership';

CREATE TABLE member_counts (
  address text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  writer smallint NOT NULL,
  count bigint NOT NULL DEFAULT 0,
  CONSTRAINT member_counts_pkey PRIMARY KEY (address, type, writer)
) WITH (fillfactor = 70);
COMMENT ON TABLE member_counts IS
  'Derived: of the indexed memberships of an address, how many pools there are of each type, and how many '
  'transactions of each type in these; a row each for the indexer (0) and all others (1)';

CREATE TABLE owner_totals (
  owner_id uuid NOT NULL,
  type text COLLATE "C" NOT NULL,
  contract text COLLATE "C" NOT NULL,
  writer smallint NOT NULL,
  pools integer NOT NULL DEFAULT 0,
  active integer NOT NULL DEFAULT 0,
  yield numeric NOT NULL DEFAULT 0,
  apr_bps bigint NOT NULL DEFAULT 0,
  CONSTRAINT owner_totals_pkey PRIMARY KEY (owner_id, type, contract, writer)
) WITH (fillfactor = 70);
COMMENT ON TABLE owner_totals IS
  'Derived: per owner, type and contract how many pools he has, how many of them have a balance, and sums of their yield and '
  'rate; a row each for the indexer (0) and all others (1), so that they never wait for each other';

CREATE TABLE pool_totals (
  shard smallint NOT NULL,
  type text COLLATE "C" NOT NULL,
  contract text COLLATE "C" NOT NULL,
  pools bigint NOT NULL DEFAULT 0,
  deposited numeric NOT NULL DEFAULT 0,
  pending numeric NOT NULL DEFAULT 0,
  yield numeric NOT NULL DEFAULT 0,
  apr_bps bigint NOT NULL DEFAULT 0,
  CONSTRAINT pool_totals_pkey PRIMARY KEY (shard, type, contract)
) WITH (fillfactor = 10);
COMMENT ON TABLE pool_totals IS
  'Derived: totals of a type of pools at a contract, split over shards so that writers do not queue behind one row; a '
  'total is the sum of its shards';
