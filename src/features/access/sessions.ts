import { Injectable } from '@nestjs/common';
import { Database } from '#platform/database/database';
import { invalidToken } from '#platform/errors/errors';
import type { Session } from './current-user';
import { SessionFeed } from './session-feed';
import { type Ending, END_ALL_SESSIONS, END_SESSION, SESSION_LIVES } from './sessions.sql';

const MAX_KNOWN = 10_000;

/** In characters. Tokens of this service have about 350. */
const MAX_HEADER_LENGTH = 1024;

export interface Known {
  session: Session;
  /** The feed's term in which the database confirmed the session. */
  checkedIn?: number;
}

/** Why a watch ends: the session ended, its token expired, or it may have ended unseen. */
type SessionEnd = 'session_ended' | 'token_expired' | 'sessions_unknown';

interface Watch {
  session: Session;
  /** The feed's term when the watch began and the session was known to be live. */
  term: number;
  onEnd: (why: SessionEnd) => void;
}

/** Whether one of the endings ends a session: its own, or that of all sessions of its user. */
function endedBy(endings: Ending[]): (session: Session) => boolean {
  const sessions = new Set(endings.map(({ sessionId }) => sessionId));
  const users = new Set(endings.filter(({ sessionId }) => !sessionId).map(({ userId }) => userId));
  return ({ sessionId, userId }) => sessions.has(sessionId) || users.has(userId);
}

/**
 * Knows which sessions are live. The database's answer is remembered with the verified token, by Authorization
 * header, for as long as the feed proves that it still holds. Normally a request then needs no query. While the feed
 * is not fresh, every request asks the database about its own session. Work that outlives its request watches its
 * session.
 */
@Injectable()
export class Sessions {
  private readonly known = new Map<string, Known>();
  private readonly watches = new Set<Watch>();

  /**
   * The webhooks of a user whose sessions have all ended; with `end` they are deleted. Webhooks belong to no session.
   * Their module replaces this function.
   */
  webhooksOf: (userId: string, end: boolean) => Promise<{ id: string; url: string }[]> = () =>
    Promise.resolve([]);

  constructor(
    private readonly database: Database,
    private readonly feed: SessionFeed,
  ) {
    feed.onEndings = (endings) => {
      const isEnded = endedBy(endings);
      this.forget(isEnded);
      for (const { session, onEnd } of [...this.watches]) if (isEnded(session)) onEnd('session_ended');
    };
  }

  /** The session of a header whose token was verified before and has not expired. It may have ended since. */
  verified(header: string): Known | undefined {
    const known = this.known.get(header);
    return known && known.session.exp > Date.now() / 1000 ? known : undefined;
  }

  isProven({ checkedIn }: Known): boolean {
    return checkedIn === this.feed.term && this.feed.fresh;
  }

  /** Remembers the session by its whole header. Longer ones serve one request: clients could fill the memory. */
  remember(header: string, session: Session): Known {
    const known = { session };
    if (header.length > MAX_HEADER_LENGTH) return known;
    this.known.delete(header);
    // The oldest entry is removed, since a Map keeps the order of insertion.
    if (this.known.size >= MAX_KNOWN) this.known.delete(this.known.keys().next().value!);
    this.known.set(header, known);
    return known;
  }

  /** @throws ApiError 401 when the session ended or its user is gone; the error of pg when the database is down */
  async check(known: Known): Promise<void> {
    const { term } = this.feed;
    const { userId, generation, sessionId } = known.session;
    const row = await this.database.read(SESSION_LIVES, { user: userId, generation, sessionId });
    if (!row) throw invalidToken('token_revoked');
    known.checkedIn = term;
  }

  /** Ends this session at once here, and within a second at every other process. */
  async end({ sessionId, userId, exp }: Session): Promise<void> {
    await this.database.write(END_SESSION, { sessionId, user: userId, exp });
    this.forget((session) => session.sessionId === sessionId);
  }

  /** Ends every session of the user that began before this is committed. */
  async endAll({ userId }: Session): Promise<void> {
    await this.database.write(END_ALL_SESSIONS, { user: userId });
    this.ended({ userId });
  }

  /** All sessions of the user have ended in the database: here at once, elsewhere within a second. */
  ended({ userId }: Pick<Session, 'userId'>): void {
    this.forget((session) => session.userId === userId);
  }

  /** Whether every session that ended more than 0.7 s ago is known to have ended. */
  get isFresh(): boolean {
    return this.feed.fresh;
  }

  /** @returns a function that stops the watch */
  watch(session: Session, onEnd: (why: SessionEnd) => void): () => void {
    const watch = { session, term: this.feed.term, onEnd };
    this.watches.add(watch);
    return () => void this.watches.delete(watch);
  }

  /**
   * To call once the watch has begun: the session may have ended after its request was let in.
   * @throws ApiError 401 when it has; the error of pg when the database is down
   */
  confirm(session: Session): Promise<void> {
    return this.check({ session });
  }

  /**
   * Ends watches of sessions that expired or may have ended unseen. Their clients sign in or connect again. Call it
   * before something is sent, too: once the feed is fresh again, sessions that ended meanwhile are found only here.
   */
  sweep(): void {
    const now = Date.now() / 1000;
    for (const { session, term, onEnd } of [...this.watches])
      if (session.exp <= now) onEnd('token_expired');
      else if (term !== this.feed.term) onEnd('sessions_unknown');
  }

  /**
   * Makes one pass for any number of endings. Forgetting a live session only costs a check. If a check is under way, its
   * result goes to the forgotten entry, so later requests check again.
   */
  private forget(isEnded: (session: Session) => boolean): void {
    for (const [header, { session }] of this.known) if (isEnded(session)) this.known.delete(header);
  }
}
