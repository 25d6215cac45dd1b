import { crc32 } from 'node:zlib';

/** Longer than any cursor. */
const MAX_LENGTH = 400;
/** Characters of the checksum. */
const CHECK = 8;

/**
 * Cursors of one list: positions in it, encoded so that clients treat them as opaque. The checksum detects mangled
 * cursors and those of other lists. It is not a signature: a forged cursor is just another position in a list that
 * shows callers only what they may read.
 */
export class CursorCodec {
  /** @param form pattern of a position; positions are ASCII */
  constructor(
    private readonly list: string,
    private readonly form: RegExp,
  ) {}

  encode(position: string): string {
    return Buffer.from(this.checksum(position) + position, 'latin1').toString('base64url');
  }

  /** @returns the position, or undefined when it is not a cursor of this list */
  decode(cursor: unknown): string | undefined {
    if (typeof cursor !== 'string' || cursor.length > MAX_LENGTH) return undefined;
    const position = Buffer.from(cursor, 'base64url').toString('latin1').slice(CHECK);
    // Decoding ignores characters that are not base64, so compare with the encoded position.
    return this.form.test(position) && this.encode(position) === cursor ? position : undefined;
  }

  private checksum(position: string): string {
    return crc32(position, crc32(this.list)).toString(16).padStart(CHECK, '0');
  }
}

/**
 * Columns of a SELECT from the rows of a page and the one that follows it, `limit + 1` at most, numbered `n` from 1.
 * `data`: the first `limit` rows as JSON text. `next`: the position of the last of them if there are more.
 */
export const cursorPage = (json: string, position: string): string => `
  coalesce(json_agg(${json} ORDER BY n) FILTER (WHERE n <= :limit), '[]')::text AS data,
  CASE WHEN count(*) > :limit THEN (array_agg(${position} ORDER BY n))[:limit] END AS next`;

/** What a statement with these columns returns. Only numbered pages have a `total`: those at a cursor count nothing. */
export interface CursorPageRow {
  total?: number | null;
  data: string;
  next: string | null;
}
