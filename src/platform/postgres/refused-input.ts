import { readFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseError } from 'pg';
import { QueryFailedError } from 'typeorm';

/** A value that does not fit (class 22), null where it must not be, and what a CHECK refuses. */
const REFUSED = /^(22\w{3}|23502|23514)$/;
const PRIVILEGES = path.join(__dirname, '../../../migrations/privileges.sql');
const MENTIONED = /\b(?:(?:into|update)\s+"?(\w+)|(?:from|join)\s+"?(\w+)\b(?!\s*\())/gi;

/** Texts of named statements that failed: PostgreSQL names no table for a value that does not fit. */
const texts = new WeakMap<Error, string>();

export const noteStatement = (error: Error, text: string): unknown => texts.set(error, text);

let restricted: ReadonlySet<string> | undefined;

/** Tables that privileges.sql lists: what belongs to the service itself. */
function isRestricted(table: string): boolean {
  restricted ??= new Set(
    [...readFileSync(PRIVILEGES, 'utf8').matchAll(/^ +\('([\w ]+)',/gm)].flatMap(([, names]) =>
      names.split(' '),
    ),
  );
  return restricted.has(table);
}

/**
 * An error of the database that says that a module has let through what its own tables cannot hold, which is the
 * request's fault. What the service's own tables refuse, or a function, stays a fault of the service.
 */
export function refusedInput(error: unknown): DatabaseError | undefined {
  const cause: unknown = error instanceof QueryFailedError ? error.driverError : error;
  if (!(cause instanceof DatabaseError) || !REFUSED.test(cause.code ?? '')) return undefined;
  if (cause.where !== undefined && /function/.test(cause.where)) return undefined;
  const text = error instanceof QueryFailedError ? error.query : texts.get(cause);
  const mentioned = [...(text ?? '').matchAll(MENTIONED)].map(([, written, read]) => written ?? read);
  const tables = cause.table === undefined ? mentioned : [cause.table];
  return tables.length > 0 && !tables.some(isRestricted) ? cause : undefined;
}
