-- Users, how they sign in, and sessions that ended before their tokens expire.

CREATE TABLE users (
  id uuid NOT NULL,
  address address NOT NULL,
  created_at timestamptz(3) NOT NULL,
  session_generation integer NOT NULL DEFAULT 0,
  has_left boolean NOT NULL DEFAULT false,
  CONSTRAINT users_pkey PRIMARY KEY (id),
  CONSTRAINT users_address_key UNIQUE (address)
);
COMMENT ON TABLE users IS
  'Who has signed in, or is an owner: an id for an address. A raised session_generation ends all tokens';
COMMENT ON COLUMN users.has_left IS 'Had the account deleted, and has not signed in since';

CREATE TABLE nonces (
  nonce text COLLATE "C" NOT NULL,
  address text COLLATE "C",
  expires_at timestamptz(3) NOT NULL,
  CONSTRAINT nonces_pkey PRIMARY KEY (nonce)
);
CREATE INDEX nonces_expires_at_idx ON nonces (expires_at);
COMMENT ON TABLE nonces IS 'Nonces of sign-in messages that are not used yet';

CREATE TABLE session_endings (
  session_id uuid,
  user_id uuid,
  xact xid8 NOT NULL DEFAULT pg_current_xact_id(),
  expires_at timestamptz(3) NOT NULL,
  CONSTRAINT session_endings_session_id_key UNIQUE (session_id)
);
CREATE INDEX session_endings_xact_idx ON session_endings (xact);
CREATE INDEX session_endings_expires_at_idx ON session_endings (expires_at);
COMMENT ON TABLE session_endings IS
  'No session_id: all sessions of the user; no user_id either: everyone is checked again. Rows with a session_id '
  'stay until its token expires, the others for processes to read';

CREATE TABLE idempotency_keys (
  user_id uuid NOT NULL,
  key text COLLATE "C" NOT NULL,
  request_hash text COLLATE "C" NOT NULL,
  response text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  CONSTRAINT idempotency_keys_pkey PRIMARY KEY (user_id, key)
);
CREATE INDEX idempotency_keys_created_at_idx ON idempotency_keys (created_at);
COMMENT ON TABLE idempotency_keys IS 'The answers that repeated requests get again, by user and key';

CREATE TABLE account_deletions (
  address text COLLATE "C" NOT NULL,
  user_id uuid,
  requested_at timestamptz(3) NOT NULL,
  -- The last membership that was looked at.
  reached uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
  -- Until then the others go first.
  waits_until timestamptz(3) NOT NULL DEFAULT '-infinity',
  CONSTRAINT account_deletions_pkey PRIMARY KEY (address)
);
CREATE INDEX account_deletions_requested_at_idx ON account_deletions (requested_at);
COMMENT ON TABLE account_deletions IS
  'Deletions that are not complete: unpaid pools, memberships and stored answers from before go in small steps';
