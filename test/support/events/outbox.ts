import { Database } from '#platform/database/database';
import { type OutboxCursor, type LedgerEvent, cursorText } from '#ledger/outbox/ledger-event';
import { HOLD_CONSUMER, READ_OUTBOX } from '#ledger/outbox/outbox.sql';
import { type TestApp, until } from '../app';

export interface PublishedRow {
  /** The transaction that wrote it. */
  xid: string;
  count: number;
  items: LedgerEvent[];
}

/** The whole outbox, in the order in which readers get it. */
export const READ_ALL = 'SELECT xid::text, count, items FROM outbox o ORDER BY o.xid, o.position';

/** Waits until readers get all that is written. Transactions of other tests on the same server delay it. */
export async function readable(app: TestApp): Promise<void> {
  const [{ xid }] = await app.sql<{ xid: string }>('SELECT pg_current_xact_id()::text AS xid');
  await until(async () => {
    const [{ ended }] = await app.sql<{ ended: boolean }>(
      'SELECT pg_snapshot_xmin(pg_current_snapshot()) > $1::xid8 AS ended',
      [xid],
    );
    return ended;
  });
}

/** As if nothing had ever been published, and nobody had asked. */
export async function emptyOutbox(app: TestApp): Promise<void> {
  await app.sql('DELETE FROM outbox');
  await app.sql('DELETE FROM outbox_consumers');
  await app.sql(`UPDATE outbox_removed SET xid = '0', position = 0`);
}

/** One row of events with these names, which readers get when this returns. */
export async function publish(app: TestApp, ...names: string[]): Promise<void> {
  await app.sql('INSERT INTO outbox (count, items) VALUES ($1, $2)', [
    names.length,
    JSON.stringify(names.map((transactionId) => ({ topic: 'deposit.confirmed', transactionId }))),
  ]);
  await readable(app);
}

/** Names of the events that a reader gets behind the cursor, and the cursor after each. */
export async function readBehind(
  app: TestApp,
  from: OutboxCursor,
): Promise<{ names: string[]; places: OutboxCursor[] }> {
  const rows = await app.nest.get(Database).readAll(READ_OUTBOX, from);
  const events = rows
    .flatMap(({ xid, position, items }) =>
      items.map((item, n) => ({
        name: (item as unknown as { transactionId: string }).transactionId,
        place: { xid, position: Number(position), item: n + 1 },
      })),
    )
    .filter(({ place }) => cursorText(place) > cursorText(from));
  return { names: events.map(({ name }) => name), places: events.map(({ place }) => place) };
}

/** Takes a consumer, as a process does. Undefined while another has it. */
export const hold = (app: TestApp, name: string, holder: string): Promise<object | undefined> =>
  app.nest.get(Database).write(HOLD_CONSUMER, { name, holder });

/** How far a consumer has come. */
export async function storedCursor(app: TestApp, name: string): Promise<OutboxCursor> {
  const [row] = await app.sql<OutboxCursor>(
    'SELECT xid::text, position::int, item FROM outbox_consumers WHERE name = $1',
    [name],
  );
  return row;
}

/** What the tables say that events should have told: one row for each event that holds, as `foldOutbox` gives them. */
export const TOLD = `
  SELECT what FROM (
    SELECT 'pool.created ' || id || ' ' || contract_address AS what FROM pools
    UNION ALL SELECT CASE type WHEN 'DEPOSIT' THEN 'deposit.confirmed' WHEN 'WITHDRAWAL' THEN 'withdrawal.confirmed'
      ELSE 'yield.claimed' END || ' ' || id || ' ' || amount || ' ' || tx_hash FROM transactions WHERE status = 'CONFIRMED'
    UNION ALL SELECT 'deposit.submitted ' || t.id || ' ' || t.amount || ' ' || s.hash
      FROM submissions s JOIN transactions t ON t.id = s.transaction_id WHERE t.status = 'PENDING'
    UNION ALL SELECT 'deposit.expired ' || id || ' ' || amount FROM transactions WHERE status = 'EXPIRED'
    UNION ALL SELECT 'yield.accrued ' || pool_id || ' ' || amount || ' ' || block_number FROM yield_accruals
    UNION ALL SELECT CASE kind WHEN 'DrawOpened' THEN 'draw.opened' WHEN 'DrawClosed' THEN 'draw.closed'
      WHEN 'DrawCompleted' THEN 'draw.completed' WHEN 'DrawCancelled' THEN 'draw.cancelled'
      WHEN 'PrizePaid' THEN 'prize.paid' WHEN 'Refunded' THEN 'draw.refunded' ELSE 'tickets.issued' END
      || ' ' || contract || ' ' || draw_id || ' ' || tx_hash FROM chain_events
    WHERE outcome = 'APPLIED' AND draw_id IS NOT NULL AND kind <> 'PrizeFunded'
    UNION ALL SELECT CASE kind WHEN 'CircleOpened' THEN 'circle.opened' WHEN 'CircleStarted' THEN 'circle.started'
      WHEN 'RoundEnded' THEN 'circle.round_ended' WHEN 'CircleCompleted' THEN 'circle.completed' ELSE 'circle.cancelled' END
      || ' ' || contract || ' ' || circle_id || ' ' || pool_id || ' ' || tx_hash FROM chain_events
    WHERE outcome = 'APPLIED' AND kind IN ('CircleOpened', 'CircleStarted', 'RoundEnded', 'CircleCompleted', 'CircleCancelled')
  ) told ORDER BY what COLLATE "C"`;

/** Those of any topic. */
export type Fields = LedgerEvent & Record<string, unknown>;

function describe(topic: string, event: Fields): string {
  const parts: Record<string, string[]> = {
    'pool.created': ['poolId', 'contract'],
    'deposit.expired': ['transactionId', 'amount'],
    'yield.accrued': ['poolId', 'amount', 'blockNumber'],
  };
  if (topic.startsWith('circle.'))
    return [topic, event.contract, event.circleId, event.poolId, event.txHash].join(' ');
  const isDraw = /^(draw|tickets|prize)\./.test(topic);
  const fields =
    parts[topic] ?? (isDraw ? ['contract', 'drawId', 'txHash'] : ['transactionId', 'amount', 'txHash']);
  return [topic, ...fields.map((field) => String(event[field]))].join(' ');
}

/**
 * What each transaction tells of the chain has to come in the chain's order, and what it takes back newest first.
 * @throws Error at the first event that does not
 */
function inOrder(rows: PublishedRow[]): void {
  let before: { xid: string; back: boolean; place: [block: number, log: number] } | undefined;
  for (const { xid, items } of rows)
    for (const event of items as Fields[]) {
      if (event.blockNumber === undefined) continue;
      const back = event.topic === 'transaction.reverted';
      const place: [number, number] = [event.blockNumber as number, event.logIndex as number];
      if (before?.xid === xid && before.back === back) {
        const [older, newer] = back ? [place, before.place] : [before.place, place];
        const isOlder = older[0] < newer[0] || (older[0] === newer[0] && older[1] < newer[1]);
        if (!isOlder)
          throw new Error(`out of order: ${JSON.stringify(event)} after ${before.place.join(' ')}`);
      }
      before = { xid, back, place };
    }
}

/**
 * What holds after all these events. A deposit that is confirmed after it expired has expired no more. A hash that was
 * told holds until another one or none is told, or the deposit is confirmed, expires, or goes with its pool.
 * @throws Error when an event tells what holds already, or takes back what does not
 */
export function foldOutbox(rows: PublishedRow[]): { what: string }[] {
  inOrder(rows);
  const holds = new Map<string, number>();
  const expired = new Map<string, string>();
  const submitted = new Map<string, string>();
  const drop = (what: string): void => {
    const count = holds.get(what);
    if (!count) throw new Error(`taken back, but never told: ${what}`);
    if (count === 1) holds.delete(what);
    else holds.set(what, count - 1);
  };
  for (const { count, items } of rows) {
    if (count !== items.length) throw new Error(`a row of ${count} events holds ${items.length}`);
    for (const event of items as Fields[]) {
      const reverted = event.topic === 'transaction.reverted' ? event.reverted : undefined;
      const what = describe(reverted ?? event.topic, event);
      const id = event.transactionId as string;
      const sent = submitted.get(id);
      if (
        ['deposit.submitted', 'deposit.confirmed', 'deposit.expired', 'pool.cancelled'].includes(event.topic)
      ) {
        if (sent === what) throw new Error(`told twice: ${what}`);
        if (sent) drop(sent);
        else if (event.txHash === null) throw new Error(`taken back, but never told: ${what}`);
        submitted.delete(id);
      }
      if (event.topic === 'deposit.submitted') {
        if (event.txHash === null) continue;
        submitted.set(id, what);
      }
      if (event.topic === 'pool.cancelled') {
        drop(describe('pool.created', event));
        if (expired.has(id)) drop(expired.get(id)!);
        expired.delete(id);
        continue;
      }
      if (reverted) drop(what);
      else if (holds.has(what) && event.topic !== 'yield.accrued') throw new Error(`told twice: ${what}`);
      else holds.set(what, (holds.get(what) ?? 0) + 1);
      const before = expired.get(id);
      if (event.topic === 'deposit.expired') expired.set(id, what);
      else if (before !== undefined) {
        if (!reverted) drop(before);
        expired.delete(id);
      }
    }
  }
  return [...holds]
    .flatMap(([what, count]) => Array.from({ length: count }, () => ({ what })))
    .sort((a, b) => (a.what < b.what ? -1 : 1));
}
