import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Sessions that ended before their tokens expire, and users whose sessions have all ended. */
export class Sessions1767400000000 implements MigrationInterface {
  name = 'Sessions1767400000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
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
        'No session_id: all sessions of the user; no user_id either: everyone is checked again. Rows with a session_id stay until its token expires, the others for processes to read';

      -- Any change to a user, even by an operator, ends the user's sessions. Truncating users is refused because of the
      -- pools.
      CREATE FUNCTION end_sessions() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO session_endings (user_id, expires_at) VALUES (OLD.id, now());
        RETURN NULL;
      END $$;
      CREATE TRIGGER users_end_sessions AFTER UPDATE OF id, session_generation OR DELETE ON users
        FOR EACH ROW EXECUTE FUNCTION end_sessions();`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DROP TRIGGER users_end_sessions ON users;
      DROP FUNCTION end_sessions();
      DROP TABLE session_endings;`);
  }
}
