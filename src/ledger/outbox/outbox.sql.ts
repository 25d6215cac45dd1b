import type { ExpiryParameters, ExpiryResult } from '#platform/database/expired-rows';
import { statement } from '#platform/postgres/statement';
import type { OutboxCursor, LedgerEvent } from './ledger-event';

/** Where a reader starts that wants only new events. */
export const END_OF_OUTBOX = 'outbox_xid(pg_snapshot_xmin(pg_current_snapshot()))';

/** A row can be read once its own transaction and all older ones have ended. */
export const READABLE = `o.xid < ${END_OF_OUTBOX}`;

export interface OutboxRow {
  xid: string;
  position: string;
  count: number;
  /** The events without their ids, which follow from their positions. */
  items: Omit<LedgerEvent, 'id'>[];
}

/** The next rows after a cursor: at least one if there is any, then more until they hold this many events. */
export const READ_OUTBOX = statement<OutboxCursor & { rows: number; events: number }, OutboxRow>(
  'read_outbox',
  { xid: 'text', position: 'bigint', item: 'integer', rows: 'integer', events: 'integer' },
  `
    SELECT xid::text, position::text, count, items FROM (
      SELECT *, sum(count) OVER (ORDER BY xid, position) - count AS before FROM (
        SELECT o.* FROM outbox o WHERE (o.xid, o.position, o.count) > (:xid::xid8, :position, :item) AND ${READABLE}
        ORDER BY o.xid, o.position LIMIT :rows
      ) next
    ) next WHERE before < :events ORDER BY next.xid, next.position`,
);

export const ADD_CONSUMER = statement<{ name: string; fromNow: boolean }, never>(
  'add_outbox_consumer',
  { name: 'text', fromNow: 'boolean' },
  `
    INSERT INTO outbox_consumers (name, xid, position, item)
    VALUES (:name, CASE WHEN :fromNow THEN ${END_OF_OUTBOX} ELSE '0' END, 0, 0)
    ON CONFLICT ON CONSTRAINT outbox_consumers_pkey DO NOTHING`,
);

/**
 * For each consumer: whether it has events that no process is handling, and the age in seconds of the oldest event that
 * it has not handled (0 if there is none).
 */
export const DUE_CONSUMERS = statement<{ names: string[] }, { name: string; lag: number; due: boolean }>(
  'due_outbox_consumers',
  { names: 'text[]' },
  `
    SELECT c.name, greatest(0, date_part('epoch', now() - next.created_at)) AS lag,
      coalesce(next.readable AND c.held_until <= now() AND c.retry_at <= now(), false) AS due
    FROM outbox_consumers c
    LEFT JOIN LATERAL (
      SELECT o.created_at, ${READABLE} AS readable FROM outbox o
      WHERE (o.xid, o.position, o.count) > (c.xid, c.position, c.item) ORDER BY o.xid, o.position LIMIT 1) next ON true
    WHERE c.name = ANY(:names)`,
);

/**
 * Takes a consumer for some seconds. This is not a row lock held for that time: a transaction that locks rows has an
 * id, and while it runs nobody can read newer events.
 */
export const HOLD_CONSUMER = statement<
  { name: string; holder: string; seconds: number },
  { xid: string; position: string; item: number; failures: number; missed: boolean }
>(
  'hold_outbox_consumer',
  { name: 'text', holder: 'uuid', seconds: 'float8' },
  `
    UPDATE outbox_consumers SET holder = :holder, held_until = now() + make_interval(secs => :seconds)
    WHERE name = :name AND held_until <= now() AND retry_at <= now()
    RETURNING xid::text, position::text, item, failures,
      (xid, position) < (SELECT r.xid, r.position FROM outbox_removed r WHERE r.id = 1) AS missed`,
);

/** Stores the progress of a held consumer. No row: another process holds it. `seconds` 0 ends the hold. */
export const MOVE_CONSUMER = statement<
  OutboxCursor & { name: string; holder: string; seconds: number; failures: number; wait: number },
  { name: string }
>(
  'move_outbox_consumer',
  {
    name: 'text',
    holder: 'uuid',
    xid: 'text',
    position: 'bigint',
    item: 'integer',
    seconds: 'float8',
    failures: 'integer',
    wait: 'float8',
  },
  `
    UPDATE outbox_consumers SET xid = :xid::xid8, position = :position, item = :item, failures = :failures,
      holder = CASE WHEN :seconds > 0 THEN holder END, held_until = now() + make_interval(secs => :seconds), retry_at = now() + make_interval(secs => :wait)
    WHERE name = :name AND holder = :holder RETURNING name`,
);

/** A statement stops removing rows once it has removed this many events. */
const MOST_REMOVED = 100_000;

/**
 * Removes events that are older than seven days. Rows are stored nearly in time order, so the primary key finds the old
 * ones; the statement looks at no more rows than it may remove. Otherwise like `removeExpired`; here `after` is a
 * transaction id.
 */
export const REMOVE_OLD_EVENTS = statement<ExpiryParameters, ExpiryResult>(
  'remove_old_events',
  { after: 'text', batch: 'integer' },
  `
    WITH turn AS MATERIALIZED (
      SELECT pg_try_advisory_xact_lock(hashtextextended('expired outbox', 0)) AS mine
    ), oldest AS MATERIALIZED (
      SELECT xid, position, created_at < now() - interval '7 days' AS expired,
        sum(count) OVER (ORDER BY xid, position) - count AS before
      FROM (
        SELECT * FROM outbox WHERE (SELECT mine FROM turn) AND xid >= coalesce(:after, '0')::xid8
        ORDER BY xid, position LIMIT :batch) first
    ), removed AS (
      DELETE FROM outbox o USING oldest
      WHERE o.xid = oldest.xid AND o.position = oldest.position AND oldest.expired AND oldest.before < ${MOST_REMOVED}
      RETURNING o.xid, o.position
    ), last AS (
      SELECT xid, position FROM removed ORDER BY xid DESC, position DESC LIMIT 1
    ), mark AS (
      UPDATE outbox_removed r SET xid = last.xid, position = last.position FROM last
      WHERE r.id = 1 AND (r.xid, r.position) < (last.xid, last.position)
    )
    SELECT (SELECT count(*)::int FROM removed) AS removed, (SELECT xid::text FROM last) AS reached`,
);
