import { removeExpired } from '#platform/database/expired-rows';
import { statement } from '#platform/postgres/statement';
import type { Session } from './current-user';

export const SESSION_LIVES = statement<
  { user: string } & Pick<Session, 'generation' | 'sessionId'>,
  { lives: true }
>(
  'session_lives',
  { user: 'uuid', generation: 'integer', sessionId: 'uuid' },
  `
    SELECT true AS lives FROM users
    WHERE id = :user AND session_generation = :generation
      AND NOT EXISTS (SELECT FROM session_endings WHERE session_id = :sessionId)`,
  { chargedTo: 'user' },
);

export const END_SESSION = statement<{ user: string } & Pick<Session, 'sessionId' | 'exp'>, object>(
  'end_session',
  { sessionId: 'uuid', user: 'uuid', exp: 'float8' },
  `
    INSERT INTO session_endings (session_id, user_id, expires_at) VALUES (:sessionId, :user, to_timestamp(:exp))
    ON CONFLICT ON CONSTRAINT session_endings_session_id_key DO NOTHING`,
);

// A trigger on users records this in session_endings, as it does when a user is deleted.
export const END_ALL_SESSIONS = statement<{ user: string }, object>(
  'end_all_sessions',
  { user: 'uuid' },
  `UPDATE users SET session_generation = session_generation + 1 WHERE id = :user`,
);

// After its expiry the token is refused anyway. The hour allows for clocks that differ.
export const REMOVE_EXPIRED_ENDINGS = removeExpired(
  'session_endings',
  'expires_at',
  "now() - interval '1 hour'",
);

/** Up to this number, endings are handled one by one. If there are more, every session is checked again. */
export const MAX_ENDINGS = 5000;

/** The end of one session, of all sessions of a user (no sessionId), or of everyone's (neither). */
export interface Ending {
  sessionId: string | null;
  userId: string | null;
}

/**
 * Endings committed since the poll that saw `snapshot`. A sequence would miss transactions that commit late.
 * Comparing the id of the writing transaction with the snapshot finds exactly what the last poll did not see.
 */
export const LOOK_FOR_ENDINGS = statement<
  { snapshot: string | null },
  { snapshot: string; standby: boolean; endings: Ending[] }
>(
  'look_for_endings',
  { snapshot: 'text' },
  `
    SELECT pg_current_snapshot()::text AS snapshot, pg_is_in_recovery() AS standby, coalesce((
      SELECT json_agg(json_build_object('sessionId', session_id, 'userId', user_id)) FROM (
        SELECT session_id, user_id FROM session_endings
        WHERE xact >= pg_snapshot_xmin(:snapshot::pg_snapshot)
          AND NOT pg_visible_in_snapshot(xact, :snapshot::pg_snapshot)
        LIMIT ${MAX_ENDINGS + 1}) unseen), '[]') AS endings`,
);
