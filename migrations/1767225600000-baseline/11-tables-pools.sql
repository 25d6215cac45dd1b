-- Pools, their members, and what it takes to make one or to bring one back.

-- The columns that a member's list reads come first, because the first columns of a row are found faster.
CREATE TABLE pools (
  id uuid NOT NULL,
  deposit_count integer NOT NULL DEFAULT 0,
  withdrawal_count integer NOT NULL DEFAULT 0,
  claim_count integer NOT NULL DEFAULT 0,
  last_deposit_id uuid,
  last_withdrawal_id uuid,
  last_claim_id uuid,
  type pool_type NOT NULL,
  owner_id uuid NOT NULL,
  contract_address address NOT NULL,
  -- A sum of amounts; the chain's events may take it beyond the range of a single amount.
  balance sum_from_zero NOT NULL DEFAULT 0,
  pending_balance numeric NOT NULL DEFAULT 0,
  total_yield sum_from_zero NOT NULL DEFAULT 0,
  claimed_yield sum_from_zero NOT NULL DEFAULT 0,
  apr_bps bigint NOT NULL DEFAULT 0,
  auto_compound boolean NOT NULL DEFAULT false,
  member_count smallint NOT NULL DEFAULT 0,
  created_at timestamptz(3) NOT NULL,
  last_update timestamptz(3) NOT NULL,
  last_claimed_at timestamptz(3),
  CONSTRAINT pools_pkey PRIMARY KEY (id),
  CONSTRAINT pools_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES users (id)
) WITH (fillfactor = 85);
-- With the contract, as some have a place for one pool of each owner.
CREATE INDEX pools_owner_id_idx ON pools (owner_id, contract_address, id);
COMMENT ON TABLE pools IS 'Pools, each with sums that are derived from its transactions, accruals and members';

CREATE TABLE pool_members (
  pool_id uuid NOT NULL,
  address address NOT NULL,
  role pool_role NOT NULL,
  type pool_type NOT NULL,
  indexed boolean NOT NULL,
  CONSTRAINT pool_members_pkey PRIMARY KEY (pool_id, address),
  CONSTRAINT pool_members_pool_id_fkey FOREIGN KEY (pool_id) REFERENCES pools (id) ON DELETE CASCADE
);
CREATE INDEX pool_members_address_idx ON pool_members (address, pool_id);
CREATE INDEX pool_members_owner_idx ON pool_members (address, type, pool_id) WHERE role = 'OWNER';
CREATE INDEX pool_members_member_idx ON pool_members (indexed, address, type, pool_id) WHERE role = 'MEMBER';
CREATE INDEX pool_members_indexed_idx ON pool_members (pool_id, address) WHERE indexed;
COMMENT ON COLUMN pool_members.indexed IS
  'Whether member_streams and member_counts have it: so have the memberships of an address beyond the first few';
COMMENT ON TABLE pool_members IS 'The owner and the members of each pool';

-- What create_pools takes (migrations/functions/create_pools.sql). A later version may have a function instead, once no
-- version that inserts here can be taken back to.
CREATE VIEW new_pools AS SELECT NULL::uuid[] AS pools, NULL::text[] AS types, NULL::uuid[] AS owner_ids,
  NULL::text[] AS contracts, NULL::boolean[] AS auto_compounds, NULL::text[] AS members,
  NULL::timestamptz[] AS created_at, NULL::text[] AS owners, NULL::uuid[] AS deposits, NULL::numeric[] AS amounts
WHERE false;

CREATE TABLE cancelled_pools (
  id uuid NOT NULL,
  type pool_type NOT NULL,
  owner_id uuid NOT NULL,
  account address NOT NULL,
  contract_address address NOT NULL,
  auto_compound boolean NOT NULL,
  members text[] COLLATE "C" NOT NULL,
  deposit_id uuid,
  amount amount,
  created_at timestamptz(3) NOT NULL,
  cancelled_at timestamptz(3) NOT NULL,
  CONSTRAINT cancelled_pools_pkey PRIMARY KEY (id),
  CONSTRAINT cancelled_pools_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES users (id)
);
CREATE INDEX cancelled_pools_owner_id_idx ON cancelled_pools (owner_id, id);
COMMENT ON TABLE cancelled_pools IS
  'What it takes to bring a pool back when a payment into it arrives after all, and who may read its events';
