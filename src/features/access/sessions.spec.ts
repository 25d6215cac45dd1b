import type { Database } from '#platform/database/database';
import type { SessionFeed } from './session-feed';
import { Sessions } from './sessions';

it('a session is proven in the term in which it was checked, and only while the feed is fresh', async () => {
  const feed = { term: 1, fresh: true, onEndings: () => undefined };
  const database = { read: () => Promise.resolve({ lives: true }) };
  const sessions = new Sessions(database as unknown as Database, feed as unknown as SessionFeed);
  const session = { userId: 'a', address: '0x', exp: Date.now(), generation: 0, sessionId: 'b' };
  const known = sessions.remember('Bearer token', session);
  expect(sessions.isProven(known)).toBe(false);
  await sessions.check(known);
  expect(sessions.isProven(known)).toBe(true);
  feed.fresh = false;
  expect(sessions.isProven(known)).toBe(false);
  Object.assign(feed, { term: 2, fresh: true });
  expect(sessions.isProven(known)).toBe(false);
});
