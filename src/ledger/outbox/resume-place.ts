import { type OutboxCursor, cursorText, parseCursor } from './ledger-event';

/** Rows that a place can name; those beyond come again. */
export const MOST_SEEN = 200;

/** A row of the outbox. */
export interface OutboxRowId {
  xid: string;
  position: number;
}

/** Parameters of a statement: one row at each index. */
export interface SeenRows {
  seenXids: string[];
  seenPositions: number[];
}

const PLACE = /^([0-9a-f-]{30})(?:~([0-9a-f.]+))?$/;

/**
 * From where a client goes on: after a cursor, but without some rows behind it, which it knows already. A reader of
 * tables and cursor in one statement may see rows that readers do not get yet, because an older transaction still
 * writes. As text it is the cursor, then `~` and the rows, if there are any, in hexadecimal digits: for each by how much its
 * xid is greater than that of the row before, and its position.
 */
export class ResumePlace {
  /** As the ids of these rows' events begin. */
  readonly rows: ReadonlySet<string>;
  /** The part of the text that names the rows. */
  readonly suffix: string;

  /** @param seen in their order */
  constructor(
    readonly cursor: OutboxCursor,
    readonly seen: readonly OutboxRowId[] = [],
  ) {
    this.rows = new Set(seen.map(({ xid, position }) => rowOf(cursorText({ xid, position, item: 0 }))));
    let before = 0n;
    const texts = seen.map(({ xid, position }) => {
      const ahead = BigInt(xid) - before;
      before += ahead;
      return `${ahead.toString(16)}.${position.toString(16)}`;
    });
    this.suffix = texts.length > 0 ? `~${texts.join('.')}` : '';
  }

  /** @returns undefined if the text is none */
  static parse(text: string): ResumePlace | undefined {
    const [, at, rows] = PLACE.exec(text) ?? [];
    const cursor = at === undefined ? undefined : parseCursor(at);
    if (!cursor) return undefined;
    const numbers = rows === undefined ? [] : rows.split('.').map((digits) => parseInt(digits, 16));
    if (numbers.length % 2 > 0 || numbers.length > 2 * MOST_SEEN) return undefined;
    if (!numbers.every((number) => Number.isSafeInteger(number))) return undefined;
    let xid = 0;
    const seen: OutboxRowId[] = [];
    for (let n = 0; n < numbers.length; n += 2) {
      xid += numbers[n];
      seen.push({ xid: `${xid}`, position: numbers[n + 1] });
    }
    return new ResumePlace(cursor, seen);
  }

  get text(): string {
    return cursorText(this.cursor) + this.suffix;
  }

  get parameters(): OutboxCursor & SeenRows {
    return {
      ...this.cursor,
      seenXids: this.seen.map(({ xid }) => xid),
      seenPositions: this.seen.map(({ position }) => position),
    };
  }
}

/** The part of an event's id that names its row. */
export const rowOf = (id: string): string => id.slice(0, 25);
