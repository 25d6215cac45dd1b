-- Circles of savers who take turns, computed from events: each circle is made anew when one of its events comes or
-- goes.

CREATE TABLE circles (
  contract text COLLATE "C" NOT NULL,
  circle_id bigint NOT NULL,
  pool_id uuid NOT NULL,
  organiser text COLLATE "C" NOT NULL,
  -- What each member pays in a round, and locks to join.
  contribution numeric(78,0) NOT NULL,
  collateral numeric(78,0) NOT NULL,
  -- Seconds.
  period integer NOT NULL,
  places smallint NOT NULL,
  join_by timestamptz(3) NOT NULL,
  state text COLLATE "C" NOT NULL,
  rounds_ended smallint NOT NULL,
  -- Of the round that runs.
  round_end timestamptz(3),
  opened_at timestamptz(3) NOT NULL,
  CONSTRAINT circles_pkey PRIMARY KEY (contract, circle_id),
  CONSTRAINT circles_pool_id_key UNIQUE (pool_id),
  CONSTRAINT circles_contract_check CHECK (is_address(contract)),
  CONSTRAINT circles_circle_id_check CHECK (circle_id BETWEEN 0 AND 9007199254740991),
  CONSTRAINT circles_state_check CHECK (state IN ('JOINING', 'RUNNING', 'COMPLETED', 'CANCELLED')),
  CONSTRAINT circles_running_check CHECK ((state = 'RUNNING') = (round_end IS NOT NULL))
) WITH (fillfactor = 70);
COMMENT ON TABLE circles IS 'Derived: the savings circle of a pool, by its contract: terms and state';

CREATE TABLE circle_members (
  contract text COLLATE "C" NOT NULL,
  circle_id bigint NOT NULL,
  account text COLLATE "C" NOT NULL,
  place smallint NOT NULL,
  joined_at timestamptz(3),
  collateral numeric NOT NULL,
  paid numeric NOT NULL,
  missed smallint NOT NULL,
  won numeric NOT NULL,
  paid_out numeric NOT NULL,
  refunded numeric NOT NULL,
  CONSTRAINT circle_members_pkey PRIMARY KEY (contract, circle_id, account),
  CONSTRAINT circle_members_place_key UNIQUE (contract, circle_id, place)
) WITH (fillfactor = 70);
COMMENT ON TABLE circle_members IS
  'Derived: what a member of a circle has locked and not lost, paid for the round that runs or was the last, how '
  'often his collateral paid, and what he won, was paid out and got back';

CREATE TABLE circle_rounds (
  contract text COLLATE "C" NOT NULL,
  circle_id bigint NOT NULL,
  round smallint NOT NULL,
  account text COLLATE "C" NOT NULL,
  paid_count smallint NOT NULL,
  ends_at timestamptz(3),
  pot numeric,
  ended_at timestamptz(3),
  CONSTRAINT circle_rounds_pkey PRIMARY KEY (contract, circle_id, round),
  CONSTRAINT circle_rounds_ended_check CHECK ((pot IS NULL) = (ended_at IS NULL))
) WITH (fillfactor = 70);
COMMENT ON TABLE circle_rounds IS
  'Derived: whose turn a round of a circle is, how many have paid, when its time is over, and what the pot was';
