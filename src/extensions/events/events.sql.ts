import { removeExpired } from '#platform/database/expired-rows';
import { statement } from '#platform/postgres/statement';
import type { OutboxCursor } from '#ledger/outbox/ledger-event';
import { END_OF_OUTBOX, PRESENT, READABLE } from '#ledger/outbox/outbox.sql';
import type { Session } from '#features/access/current-user';

export const ISSUE_TICKET = statement<{ digest: string; session: string }, { expiresAt: string }>(
  'issue_event_ticket',
  { digest: 'text', session: 'jsonb' },
  `
    INSERT INTO event_tickets (digest, session, expires_at)
    VALUES (:digest, :session, now() + interval '30 seconds') RETURNING iso(expires_at) AS "expiresAt"`,
);

/** Uses up a ticket. No row: the ticket is unknown, used or expired, or its session has ended. */
export const REDEEM_TICKET = statement<{ digest: string }, { session: Session }>(
  'redeem_event_ticket',
  { digest: 'text' },
  `
    WITH ticket AS (
      DELETE FROM event_tickets WHERE digest = :digest AND expires_at > now() RETURNING session
    )
    SELECT session FROM ticket
    JOIN users u ON u.id = (session ->> 'userId')::uuid AND u.session_generation = (session ->> 'generation')::integer
    WHERE NOT EXISTS (SELECT FROM session_endings e WHERE e.session_id = (session ->> 'sessionId')::uuid)`,
);

export const REMOVE_EXPIRED_TICKETS = removeExpired('event_tickets', 'expires_at', 'now()');

/**
 * The present, whether the given cursor is one from which a stream can go on, and whether no more than `most` events
 * follow it. A stream cannot go on:
 * - if events after the cursor are no longer kept
 * - from before a restore, which may have taken back what the client has seen
 * - ahead of all that can be read: it is forged, or what the client has seen was lost in a failover
 */
export const OPEN_STREAM = statement<
  OutboxCursor & { most: number },
  { xid: string; position: string; item: number; usable: boolean; near: boolean }
>(
  'open_event_stream',
  { xid: 'text', position: 'bigint', item: 'integer', most: 'integer' },
  `
    SELECT present.xid::text, present.position::text, present.item,
      (r.xid, r.position, 0) < (:xid::xid8, :position, :item) AND :xid::xid8 >= r.era
      AND (:xid::xid8, :position, :item) <= (${END_OF_OUTBOX}, 0, 0) AS usable,
      (SELECT coalesce(sum(count), 0) <= :most FROM (
        SELECT o.count FROM outbox o WHERE (o.xid, o.position, o.count) > (:xid::xid8, :position, :item) AND ${READABLE}
        ORDER BY o.xid, o.position LIMIT :most + 1) next) AS near
    FROM outbox_removed r CROSS JOIN LATERAL ${PRESENT} present
    WHERE r.id = 1`,
);
