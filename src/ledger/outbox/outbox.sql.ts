import { type ExpiryParameters, type ExpiryResult, removeExpired } from '#platform/database/expired-rows';
import { statement } from '#platform/postgres/statement';
import type { OutboxCursor, LedgerEvent } from './ledger-event';

/** Where a reader starts that wants only new events. */
export const END_OF_OUTBOX = 'outbox_xid(pg_snapshot_xmin(pg_current_snapshot()))';

/** A row can be read once its own transaction and all older ones have ended. */
export const READABLE = `o.xid < ${END_OF_OUTBOX}`;

/** More than a row has events; the most that a cursor can say. */
const MOST_ITEMS = 0xffff;

/**
 * SQL: the present: the place after the last event that can be read. It is a row that is or was in the table, and not
 * the next transaction's id: a server that crashed, or its standby, may give out ids again whose transactions left no
 * trace. `r` is the row of outbox_removed.
 */
export const PRESENT = `(
      SELECT * FROM (
        (SELECT o.xid, o.position, o.count AS item FROM outbox o WHERE ${READABLE}
          ORDER BY o.xid DESC, o.position DESC LIMIT 1)
        UNION ALL SELECT r.xid, r.position, ${MOST_ITEMS}
        UNION ALL SELECT r.era, 0, 0
      ) place ORDER BY xid DESC, position DESC, item DESC LIMIT 1)`;

/** For FROM: the present as the statement around it sees it, one row. */
export const HERE = `
  (SELECT present.xid::text, present.position::text, present.item
   FROM outbox_removed r CROSS JOIN LATERAL ${PRESENT} present WHERE r.id = 1)`;

export interface OutboxRow {
  xid: string;
  position: string;
  count: number;
  /** The events without their ids, which follow from their positions. */
  items: Omit<LedgerEvent, 'id'>[];
}

/** Limits of a read: the number of rows, and the number of events after which no more rows are read. */
const ROWS = 200;
export const EVENTS = 1000;

/** The next rows after a cursor: at least one if there is any. */
export const READ_OUTBOX = statement<OutboxCursor, OutboxRow>(
  'read_outbox',
  { xid: 'text', position: 'bigint', item: 'integer' },
  `
    SELECT xid::text, position::text, count, items FROM (
      SELECT *, sum(count) OVER (ORDER BY xid, position) - count AS before FROM (
        SELECT o.* FROM outbox o WHERE (o.xid, o.position, o.count) > (:xid::xid8, :position, :item) AND ${READABLE}
        ORDER BY o.xid, o.position LIMIT ${ROWS}
      ) next
    ) next WHERE before < ${EVENTS} ORDER BY next.xid, next.position`,
);

export const ADD_CONSUMER = statement<{ name: string; fromNow: boolean }, never>(
  'add_outbox_consumer',
  { name: 'text', fromNow: 'boolean' },
  `
    INSERT INTO outbox_consumers (name, xid, position, item)
    VALUES (:name, CASE WHEN :fromNow THEN ${END_OF_OUTBOX} ELSE '0' END, 0, 0)
    ON CONFLICT ON CONSTRAINT outbox_consumers_pkey DO NOTHING`,
);

/** Events that a consumer has set aside and is asked to try again. */
const isAskedAgain = (name: string): string =>
  `EXISTS (SELECT FROM outbox_set_aside s WHERE s.consumer = ${name} AND s.again)`;

/**
 * Whether a consumer has events that no process is handling, and the age in seconds of the oldest event that it has not
 * handled (0 if there is none).
 */
export const DUE_CONSUMER = statement<{ name: string }, { lag: number; due: boolean }>(
  'due_outbox_consumer',
  { name: 'text' },
  `
    SELECT greatest(0, date_part('epoch', now() - next.created_at)) AS lag,
      (coalesce(next.readable, false) OR ${isAskedAgain(':name')}) AND c.held_until <= now() AND c.retry_at <= now()
        AS due
    FROM outbox_consumers c
    LEFT JOIN LATERAL (
      SELECT o.created_at, ${READABLE} AS readable FROM outbox o
      WHERE (o.xid, o.position, o.count) > (c.xid, c.position, c.item) ORDER BY o.xid, o.position LIMIT 1) next ON true
    WHERE c.name = :name`,
);

/** A process holds a consumer for this time, and extends the hold during a call of the handler and after it. */
export const HOLD_SECONDS = 15;

/**
 * Takes a consumer for `HOLD_SECONDS`. This is not a row lock held for that time: a transaction that locks rows has an
 * id, and while it runs nobody can read newer events.
 */
export const HOLD_CONSUMER = statement<
  { name: string; holder: string },
  {
    xid: string;
    position: string;
    item: number;
    failures: number;
    failingSeconds: number;
    missed: boolean;
    askedAgain: boolean;
  }
>(
  'hold_outbox_consumer',
  { name: 'text', holder: 'uuid' },
  `
    UPDATE outbox_consumers SET holder = :holder, held_until = now() + make_interval(secs => ${HOLD_SECONDS})
    WHERE name = :name AND held_until <= now() AND retry_at <= now()
    RETURNING xid::text, position::text, item, failures,
      coalesce(date_part('epoch', now() - failing_since), 0) AS "failingSeconds", ${isAskedAgain(':name')} AS "askedAgain",
      (xid, position) < (SELECT r.xid, r.position FROM outbox_removed r WHERE r.id = 1) AS missed`,
);

/** The cursor of a consumer, and what is known of the event after it. */
export interface ConsumerState extends OutboxCursor {
  /** How often in a row it failed alone. */
  failures: number;
}

const STATE = {
  name: 'text',
  holder: 'uuid',
  xid: 'text',
  position: 'bigint',
  item: 'integer',
  failures: 'integer',
  seconds: 'float8',
  wait: 'float8',
} as const;

export type Move = ConsumerState & { name: string; holder: string; seconds: number; wait: number };

const MOVE = `
    UPDATE outbox_consumers SET xid = :xid::xid8, position = :position, item = :item, failures = :failures,
      failing_since = CASE WHEN :failures = 0 THEN NULL WHEN :failures < failures THEN now()
        ELSE coalesce(failing_since, now()) END,
      holder = CASE WHEN :seconds > 0 THEN holder END, held_until = now() + make_interval(secs => :seconds),
      retry_at = now() + make_interval(secs => :wait)
    WHERE name = :name AND holder = :holder RETURNING name`;

/** Stores the progress of a held consumer and extends the hold, or ends it (`seconds` 0). No row: another process holds it. */
export const MOVE_CONSUMER = statement<Move, { name: string }>('move_outbox_consumer', STATE, MOVE);

/** Sets an event aside and moves the consumer behind it, both or nothing. No row: another process holds it. */
export const SET_ASIDE = statement<Move & { id: string; event: string; error: string }, { name: string }>(
  'set_outbox_event_aside',
  { ...STATE, id: 'text', event: 'text', error: 'text' },
  `
    WITH moved AS (${MOVE}), stored AS (
      INSERT INTO outbox_set_aside (consumer, event_id, event, error) SELECT name, :id, :event::json, :error
      FROM moved
      ON CONFLICT ON CONSTRAINT outbox_set_aside_pkey DO UPDATE SET error = excluded.error
    )
    SELECT name FROM moved`,
);

/** Some events that an operator has asked a consumer to handle again, oldest first. */
export const ASKED_AGAIN = statement<{ name: string }, { event: LedgerEvent }>(
  'set_aside_events_asked_again',
  { name: 'text' },
  'SELECT event FROM outbox_set_aside WHERE consumer = :name AND again ORDER BY event_id LIMIT 100',
);

/** Stores what became of an event that was tried again: it goes if it worked. */
export const TRIED_AGAIN = statement<{ name: string; id: string; error: string | null }, never>(
  'outbox_event_tried_again',
  { name: 'text', id: 'text', error: 'text' },
  `
    WITH done AS (
      DELETE FROM outbox_set_aside WHERE consumer = :name AND event_id = :id AND :error IS NULL
    )
    UPDATE outbox_set_aside SET again = false, error = :error
    WHERE consumer = :name AND event_id = :id AND :error IS NOT NULL`,
);

export const REMOVE_OLD_SET_ASIDE = removeExpired(
  'outbox_set_aside',
  'created_at',
  `now() - interval '7 days'`,
);

/** An open transaction with an id holds back all events. See `end_holding_readers` in `migrations/functions`. */
export const END_HOLDING_READERS = statement<ExpiryParameters, ExpiryResult>(
  'end_holding_readers',
  { after: 'text', batch: 'integer' },
  'SELECT end_holding_readers() AS removed, :after AS reached, :batch IS NULL AS more',
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
