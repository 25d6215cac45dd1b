import { Injectable } from '@nestjs/common';
import type { Session } from './current-user';
import { SessionFeed, endedBy } from './session-feed';
import { Sessions } from './sessions';

/** Why a watch ends: the session ended, its token expired, or it may have ended unseen. */
export type SessionEnd = 'session_ended' | 'token_expired' | 'sessions_unknown';

interface Watched {
  session: Session;
  /** The feed's term when the watch began and the session was known to be live. */
  term: number;
  onEnd: (why: SessionEnd) => void;
}

/** For work that outlives a request: tells when the session that started it ends. */
@Injectable()
export class SessionWatch {
  private readonly watched = new Set<Watched>();

  constructor(
    private readonly feed: SessionFeed,
    private readonly sessions: Sessions,
  ) {
    feed.onEndings((endings) => {
      const isEnded = endedBy(endings);
      for (const { session, onEnd } of [...this.watched]) if (isEnded(session)) onEnd('session_ended');
    });
  }

  /** Whether every session that ended more than 0.7 s ago is known to have ended. */
  get isFresh(): boolean {
    return this.feed.fresh;
  }

  /** @returns a function that stops the watch */
  watch(session: Session, onEnd: (why: SessionEnd) => void): () => void {
    const watched = { session, term: this.feed.term, onEnd };
    this.watched.add(watched);
    return () => void this.watched.delete(watched);
  }

  /**
   * To call once the watch has begun: the session may have ended after its request was let in.
   * @throws ApiError 401 when it has; the error of pg when the database is down
   */
  confirm(session: Session): Promise<void> {
    return this.sessions.check(this.sessions.once(session));
  }

  /**
   * Ends watches of sessions that expired or may have ended unseen. Their clients sign in or connect again. Call it
   * before something is sent, too: once the feed is fresh again, sessions that ended meanwhile are found only here.
   */
  sweep(): void {
    const now = Date.now() / 1000;
    for (const { session, term, onEnd } of [...this.watched])
      if (session.exp <= now) onEnd('token_expired');
      else if (term !== this.feed.term) onEnd('sessions_unknown');
  }
}
