-- What migrations and verification know about themselves.

-- Migrations that a version has to know, to work on the schema: those that take away or change what the version
-- before used. They add themselves; what only adds need not.
CREATE TABLE required_migrations (
  name text COLLATE "C" NOT NULL,
  CONSTRAINT required_migrations_pkey PRIMARY KEY (name)
);

CREATE TABLE verify_walks (
  name text COLLATE "C" NOT NULL,
  after text COLLATE "C" NOT NULL,
  done bigint NOT NULL,
  covered_at timestamptz(3),
  CONSTRAINT verify_walks_pkey PRIMARY KEY (name)
);
COMMENT ON TABLE verify_walks IS
  'How far continuous verification has come, so that a restart goes on there, and when it last got to the end';
