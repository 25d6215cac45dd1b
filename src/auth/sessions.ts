import { Injectable } from '@nestjs/common';
import { invalidToken } from '../common/errors';
import { Database } from '../database/database';
import {
  ExpiredRows,
  type ExpiryParameters,
  type ExpiryResult,
  removeExpired,
} from '../database/expired-rows';
import { statement } from '../database/statement';
import type { Session } from './current-user';
import { type Ending, SessionFeed } from './session-feed';

export const SESSION_LIVES = {
  name: 'session_lives',
  text: `
    SELECT true AS lives FROM users
    WHERE id = $1 AND session_generation = $2 AND NOT EXISTS (SELECT FROM session_endings WHERE session_id = $3)`,
};

export const END_SESSION = {
  name: 'end_session',
  text: `
    INSERT INTO session_endings (session_id, user_id, expires_at) VALUES ($1, $2, to_timestamp($3))
    ON CONFLICT ON CONSTRAINT session_endings_session_id_key DO NOTHING`,
};

// A trigger on users tells of it in session_endings, as it does when the user is deleted.
export const END_ALL_SESSIONS = {
  name: 'end_all_sessions',
  text: `UPDATE users SET session_generation = session_generation + 1 WHERE id = $1`,
};

// A token is refused by its own expiry from then on. The hour is for clocks that differ.
export const REMOVE_EXPIRED_ENDINGS = statement<ExpiryParameters, ExpiryResult>(
  'remove_expired_endings',
  { after: 'timestamptz', batch: 'integer' },
  removeExpired('session_endings', 'expires_at', "now() - interval '1 hour'"),
);

/** The year 9999: PostgreSQL refuses much later times, and no token of this service lives as long. */
const LAST_TIME = 253_402_300_799;
const MAX_KNOWN = 10_000;

interface Known {
  session: Session;
  /** Term of the feed in which the database said that it lives; undefined once it was ended. */
  checkedIn?: number;
  /** Endings that concerned it, so that one during a check is not lost. */
  endings: number;
}

/**
 * Knows which sessions live. What the database said of one is remembered together with its verified token, by the
 * Authorization header, for as long as the feed proves that it still holds: in the normal state a request asks
 * nothing. While the feed is not fresh, every request asks the database for its own session.
 */
@Injectable()
export class Sessions {
  private readonly known = new Map<string, Known>();

  constructor(
    private readonly database: Database,
    private readonly feed: SessionFeed,
    expired: ExpiredRows,
  ) {
    expired.register('session_endings', REMOVE_EXPIRED_ENDINGS);
    feed.onEndings((endings) => this.forget(endings));
  }

  /** The session of a header whose token was verified before, unless it expired. It may have been ended since. */
  verified(header: string): Known | undefined {
    const known = this.known.get(header);
    return known && known.session.exp > Date.now() / 1000 ? known : undefined;
  }

  /** Whether it lives can be told without asking. */
  isProven({ checkedIn }: Known): boolean {
    return checkedIn === this.feed.term && this.feed.fresh;
  }

  /** @param keep whether to remember it; a header with more in it than a token would let a client fill the memory */
  add(header: string, session: Session, keep: boolean): Known {
    const known: Known = { session, endings: 0 };
    if (!keep) return known;
    this.known.delete(header);
    if (this.known.size >= MAX_KNOWN) {
      // The oldest entry, since a Map keeps the order of insertion.
      const [oldest] = this.known.keys();
      if (oldest !== undefined) this.known.delete(oldest);
    }
    this.known.set(header, known);
    return known;
  }

  /** @throws ApiError 401 when the session was ended or its user is gone; what pg throws when the database is out */
  async check(known: Known): Promise<void> {
    const { term } = this.feed;
    const { session, endings } = known;
    const { userId, generation, sessionId } = session;
    const row = await this.database.read(SESSION_LIVES, [userId, generation, sessionId]);
    if (!row) throw invalidToken();
    if (known.endings === endings) known.checkedIn = term;
  }

  /** Ends this session at once here, and within a second at every other process. */
  async end({ sessionId, userId, exp }: Session): Promise<void> {
    await this.database.write(END_SESSION, [sessionId, userId, Math.min(exp, LAST_TIME)]);
    this.forget([{ sessionId, userId }]);
  }

  /** The same for every session of the user that began before this is committed. */
  async endAll({ userId }: Session): Promise<void> {
    await this.database.write(END_ALL_SESSIONS, [userId]);
    this.forget([{ sessionId: null, userId }]);
  }

  /** One pass, however many there are. It only costs a check to forget a session that lives. */
  private forget(endings: Ending[]): void {
    const sessions = new Set(endings.map(({ sessionId }) => sessionId));
    const users = new Set(endings.filter(({ sessionId }) => !sessionId).map(({ userId }) => userId));
    for (const known of this.known.values())
      if (sessions.has(known.session.sessionId) || users.has(known.session.userId)) {
        known.endings++;
        known.checkedIn = undefined;
      }
  }
}
