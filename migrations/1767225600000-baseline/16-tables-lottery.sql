-- Draws of lottery contracts, computed from events, with sums for each draw, so that a purchase need not add them up.

CREATE TABLE lottery_draws (
  contract text COLLATE "C" NOT NULL,
  draw_id bigint NOT NULL,
  status text COLLATE "C" NOT NULL,
  ticket_price numeric(78,0) NOT NULL,
  prize_pool numeric NOT NULL,
  participants integer NOT NULL,
  total_tickets numeric NOT NULL,
  draw_time timestamptz(3) NOT NULL,
  winner text COLLATE "C",
  winner_tickets numeric,
  prize numeric(78,0),
  drawn_at timestamptz(3),
  pick_block bigint,
  paid boolean NOT NULL DEFAULT false,
  CONSTRAINT lottery_draws_pkey PRIMARY KEY (contract, draw_id),
  CONSTRAINT lottery_draws_contract_check CHECK (is_address(contract)),
  CONSTRAINT lottery_draws_draw_id_check CHECK (draw_id BETWEEN 0 AND 9007199254740991),
  CONSTRAINT lottery_draws_status_check CHECK (status IN ('ACTIVE', 'DRAWING', 'COMPLETED', 'CANCELLED')),
  CONSTRAINT lottery_draws_completed_check CHECK (
    (status = 'COMPLETED') = (winner IS NOT NULL AND prize IS NOT NULL AND drawn_at IS NOT NULL)
  )
);
CREATE INDEX lottery_draws_open_idx ON lottery_draws (contract, draw_id) WHERE status IN ('ACTIVE', 'DRAWING');
CREATE INDEX lottery_draws_completed_idx ON lottery_draws (drawn_at, draw_id, contract)
  WHERE status = 'COMPLETED';
COMMENT ON TABLE lottery_draws IS
  'Derived: draws of lottery contracts, from their events, with sums so that a purchase need not add them up';

CREATE TABLE lottery_tickets (
  contract text COLLATE "C" NOT NULL,
  draw_id bigint NOT NULL,
  account text COLLATE "C" NOT NULL,
  tickets numeric NOT NULL DEFAULT 0,
  paid_in numeric NOT NULL DEFAULT 0,
  refunded numeric NOT NULL DEFAULT 0,
  CONSTRAINT lottery_tickets_pkey PRIMARY KEY (contract, draw_id, account)
) WITH (fillfactor = 90);
CREATE INDEX lottery_tickets_account_idx ON lottery_tickets (account, contract, draw_id);
COMMENT ON TABLE lottery_tickets IS
  'Derived: what an account has in a draw: tickets, what it paid in for them and as gifts, and what came back';

CREATE TABLE lottery_totals (
  id smallint NOT NULL DEFAULT 1,
  winners bigint NOT NULL DEFAULT 0,
  CONSTRAINT lottery_totals_pkey PRIMARY KEY (id),
  CONSTRAINT lottery_totals_single_check CHECK (id = 1)
) WITH (fillfactor = 50);
COMMENT ON TABLE lottery_totals IS 'Derived: the number of completed draws';
INSERT INTO lottery_totals DEFAULT VALUES;
