-- What migrations, verification and operators leave behind.

-- Migrations that a version has to know, to work on the schema: those that take away or change what the version
-- before used. They add themselves; what only adds need not.
CREATE TABLE required_migrations (
  name text COLLATE "C" NOT NULL,
  CONSTRAINT required_migrations_pkey PRIMARY KEY (name)
);
COMMENT ON TABLE required_migrations IS
  'Migrations that a version has to know, to work on the schema: those that take away or change what the '
  'version before used';

CREATE TABLE verify_walks (
  name text COLLATE "C" NOT NULL,
  after text COLLATE "C" NOT NULL,
  done bigint NOT NULL,
  covered_at timestamptz(3),
  CONSTRAINT verify_walks_pkey PRIMARY KEY (name)
);
COMMENT ON TABLE verify_walks IS
  'How far continuous verification has come, so that a restart goes on there, and when it last got to the end';

CREATE TABLE operator_records (
  id bigint GENERATED ALWAYS AS IDENTITY,
  command text NOT NULL,
  arguments text NOT NULL DEFAULT '',
  person text NOT NULL,
  role text NOT NULL DEFAULT session_user,
  begun_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  ended_at timestamptz(3),
  outcome text,
  result jsonb,
  CONSTRAINT operator_records_pkey PRIMARY KEY (id),
  CONSTRAINT operator_records_outcome_check CHECK (outcome IN ('done', 'failed')),
  CONSTRAINT operator_records_ended_check CHECK ((ended_at IS NULL) = (outcome IS NULL))
);
CREATE INDEX operator_records_begun_at_idx ON operator_records (begun_at);
CREATE INDEX operator_records_open_idx ON operator_records (begun_at) WHERE ended_at IS NULL;
COMMENT ON TABLE operator_records IS
  'What operators did: one that has no end is under way, or its process was killed. Rows stay as they are';
