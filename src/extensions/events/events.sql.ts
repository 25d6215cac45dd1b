import { removeExpired } from '#platform/database/expired-rows';
import { statement } from '#platform/postgres/statement';
import type { LedgerEvent, OutboxCursor } from '#ledger/outbox/ledger-event';
import { END_OF_OUTBOX, PRESENT, READABLE } from '#ledger/outbox/outbox.sql';
import type { SeenRows } from '#ledger/outbox/resume-place';
import type { Session } from '#features/access/current-user';
import { isUnknown, mayRead } from './readers.sql';

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

export const REMOVE_EXPIRED_TICKETS = removeExpired('event_tickets', 'expires_at', 'now()');

/** Whether all events after the cursor are still kept. */
const KEPT = '(r.xid, r.position, 0) < (:xid::xid8, :position, :item)';

/**
 * The present, and whether the given cursor is one from which a stream can go on. It is not:
 * - if events after it are kept no more
 * - from before a restore, which may have taken back what the client has seen
 * - ahead of all that can be read: it is forged, or what the client has seen was lost in a failover
 * - if one of the rows that it says were seen is not there: it was lost in a failover
 */
export const OPEN_STREAM = statement<
  OutboxCursor & SeenRows,
  { xid: string; position: string; item: number; usable: boolean }
>(
  'open_event_stream',
  { xid: 'text', position: 'bigint', item: 'integer', seenXids: 'text[]', seenPositions: 'bigint[]' },
  `
    SELECT present.xid::text, present.position::text, present.item, ${KEPT} AND :xid::xid8 >= r.era
      AND (:xid::xid8, :position, :item) <= (${END_OF_OUTBOX}, 0, 0)
      AND NOT EXISTS (
        SELECT FROM unnest(:seenXids, :seenPositions) AS s(xid, position)
        WHERE NOT EXISTS (SELECT FROM outbox o WHERE o.xid = s.xid::xid8 AND o.position = s.position)) AS usable
    FROM outbox_removed r CROSS JOIN LATERAL ${PRESENT} present
    WHERE r.id = 1`,
);

/** Whether a stream can go on from the cursor by reading at most so many events: they are no more, and all are kept. */
export const IS_NEAR = statement<OutboxCursor & { most: number }, { near: boolean }>(
  'is_event_stream_near',
  { xid: 'text', position: 'bigint', item: 'integer', most: 'integer' },
  `
    SELECT ${KEPT} AND (
      SELECT coalesce(sum(count), 0) <= :most FROM (
        SELECT o.count FROM outbox o WHERE (o.xid, o.position, o.count) > (:xid::xid8, :position, :item) AND ${READABLE}
        ORDER BY o.xid, o.position LIMIT :most + 1) next) AS near
    FROM outbox_removed r WHERE r.id = 1`,
);

export interface CaughtUp {
  xid: string;
  position: string;
  count: number;
  /** How many events were looked at, in all rows. */
  scanned: number;
  /** Its events that the reader may read, and those of unknown topics. */
  items: { place: number; event: Omit<LedgerEvent, 'id'> }[] | null;
}

/**
 * The next events after a cursor that an address may read, among the next `events` or the next row. A row without any is
 * left out, unless it is the last one: up to there all is read.
 */
export const CATCH_UP = statement<OutboxCursor & { events: number; address: string }, CaughtUp>(
  'catch_up_events',
  { xid: 'text', position: 'bigint', item: 'integer', events: 'integer', address: 'text' },
  `
    WITH next AS MATERIALIZED (
      SELECT *, sum(count) OVER () AS scanned, lead(position) OVER (ORDER BY xid, position) IS NULL AS last FROM (
        SELECT *, sum(count) OVER (ORDER BY xid, position) - count AS before FROM (
          SELECT o.* FROM outbox o WHERE (o.xid, o.position, o.count) > (:xid::xid8, :position, :item) AND ${READABLE}
          ORDER BY o.xid, o.position LIMIT :events
        ) ahead
      ) ahead WHERE before < :events
    )
    SELECT next.xid::text, next.position::text, next.count, next.scanned::integer, own.items
    FROM next CROSS JOIN LATERAL (
      SELECT json_agg(json_build_object('place', e.place, 'event', e.item) ORDER BY e.place) AS items
      FROM ROWS FROM (
        json_to_recordset(next.items) AS (topic text, reverted text, "poolId" text, account text),
        json_array_elements(next.items)
      ) WITH ORDINALITY AS e(topic, reverted, pool, account, item, place)
      WHERE (next.xid, next.position, e.place) > (:xid::xid8, :position, :item)
        AND (${isUnknown('e')} OR ${mayRead('e', ':address')})
    ) own
    WHERE next.last OR own.items IS NOT NULL ORDER BY next.xid, next.position`,
  { chargedTo: 'address' },
);
