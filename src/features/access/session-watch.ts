import { Injectable } from '@nestjs/common';
import type { Session } from './current-user';
import { SessionFeed } from './session-feed';

interface Watched {
  session: Session;
  /** The feed's term when the watch began and the session was known to be live. */
  term: number;
  onEnd: () => void;
}

/** For work that outlives a request: tells when the session that started it ends. */
@Injectable()
export class SessionWatch {
  private readonly watched = new Set<Watched>();

  constructor(private readonly feed: SessionFeed) {
    feed.onEndings((endings) => {
      const sessions = new Set(endings.map(({ sessionId }) => sessionId));
      const users = new Set(endings.filter(({ sessionId }) => !sessionId).map(({ userId }) => userId));
      for (const { session, onEnd } of [...this.watched])
        if (sessions.has(session.sessionId) || users.has(session.userId)) onEnd();
    });
  }

  /** Whether every session that ended more than 0.7 s ago is known to have ended. */
  get isFresh(): boolean {
    return this.feed.fresh;
  }

  /** @returns a function that stops the watch */
  watch(session: Session, onEnd: () => void): () => void {
    const watched = { session, term: this.feed.term, onEnd };
    this.watched.add(watched);
    return () => void this.watched.delete(watched);
  }

  /** Ends watches of sessions that expired or may have ended unseen. Their clients sign in or connect again. */
  sweep(): void {
    const now = Date.now() / 1000;
    for (const { session, term, onEnd } of [...this.watched])
      if (session.exp <= now || term !== this.feed.term) onEnd();
  }
}
