import { type ExpiryParameters, type ExpiryResult, removeExpired } from '#platform/database/expired-rows';
import { statement } from '#platform/postgres/statement';
import type { OutboxCursor } from '#ledger/outbox/ledger-event';
import { END_OF_OUTBOX } from '#ledger/outbox/outbox.sql';
import type { Session } from '#features/access/current-user';

export const ISSUE_TICKET = statement<
  { digest: string; session: string; seconds: number },
  { expiresAt: string }
>(
  'issue_event_ticket',
  { digest: 'text', session: 'jsonb', seconds: 'float8' },
  `
    INSERT INTO event_tickets (digest, session, expires_at)
    VALUES (:digest, :session, now() + make_interval(secs => :seconds)) RETURNING iso(expires_at) AS "expiresAt"`,
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

export const REMOVE_EXPIRED_TICKETS = statement<ExpiryParameters, ExpiryResult>(
  'remove_expired_event_tickets',
  { after: 'timestamptz', batch: 'integer' },
  removeExpired('event_tickets', 'expires_at', 'now()'),
);

/**
 * The current end of the outbox, and whether every event after the given cursor is still kept. None counts as kept for a
 * cursor from before a restore, which may have taken back what the client has seen.
 */
export const OPEN_STREAM = statement<OutboxCursor, { xid: string; kept: boolean }>(
  'open_event_stream',
  { xid: 'text', position: 'bigint', item: 'integer' },
  `
    SELECT ${END_OF_OUTBOX}::text AS xid,
      (r.xid, r.position, 0) < (:xid::xid8, :position, :item) AND :xid::xid8 >= r.era
        AND :xid::xid8 <= outbox_xid(pg_snapshot_xmax(pg_current_snapshot())) AS kept
    FROM outbox_removed r WHERE r.id = 1`,
);
