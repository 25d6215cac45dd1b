import { DatabaseError } from 'pg';
import { QueryFailedError } from 'typeorm';

/**
 * A failure that is the database's fault and that no PostgreSQL error reports: no connection, no answer in time, or too
 * many statements waiting. The API answers 503.
 */
export class DatabaseUnavailable extends Error {
  override readonly name: string = 'DatabaseUnavailable';
}

/**
 * The connection was lost while a statement that writes was under way: it may have been done, or may still be.
 */
export class OutcomeUnknown extends DatabaseUnavailable {
  override readonly name = 'OutcomeUnknown';
}

/**
 * The server did not begin the statement, because another one of its batch failed. The error of another request is
 * neither this one's answer nor for its log.
 */
export class StatementSkipped extends DatabaseUnavailable {
  override readonly name = 'StatementSkipped';
}

/** Whether the database, not the request, caused the failure. Decided by class and SQLSTATE, never by text. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return true;
  if (error instanceof QueryFailedError) return isUnavailable(error.driverError);
  return error instanceof DatabaseError && meansUnavailable(error.code);
}

/** The SQLSTATE of PostgreSQL's error, also of one beneath ours. */
export function codeOf(error: Error | null): string | undefined {
  const cause = error instanceof DatabaseUnavailable ? error.cause : error;
  return (cause as { code?: string } | null | undefined)?.code;
}

/** Whether the failed statement may have been done all the same. */
export function isOutcomeUnknown(error: unknown): boolean {
  if (error instanceof QueryFailedError) return isOutcomeUnknown(error.driverError);
  return error instanceof OutcomeUnknown;
}

/** Its holder's commit may wait for a standby. */
export const LOCKED = '55P03';
/** By its timeout, or by an administrator. */
export const CANCELLED = '57014';
export const OUT_OF_RANGE = '22023';
/** What a guard for standbys says of a server that was promoted. */
export const NO_STANDBY = '55000';

/**
 * SQLSTATEs, grouped by their consequences. The less obvious codes: 25006 means a server that was demoted, or is not
 * promoted yet; 25P03 and 25P04, a transaction that was idle, or took too long; 26000, a missing prepared statement, as
 * poolers lose them; 40001, also a conflict with recovery; 57P01, a shutdown or an administrator; 57P04, a dropped
 * database; 57P05, an idle session. No code of Node.js matches, such as ECONNRESET, which pg's errors have in the same
 * place.
 */
const are =
  (states: RegExp) =>
  (code = ''): boolean =>
    states.test(code);

/** The database was the reason, not the request, and a retry may succeed. */
const meansUnavailable = are(/^(08...|25006|25P03|25P04|26000|40001|40P01|53...|55P03|57...|58...)$/);
/** The connection gets no more statements. */
export const retiresConnection = are(/^(08...|25006|26000|55000|57P..)$/);
/** PostgreSQL ends the session by itself, between statements or in one, whose transaction it rolls back. */
export const endsSession = are(/^(25P03|25P04|57P01|57P04|57P05)$/);
/** Nothing was done, and the same statement may succeed. */
export const isRepeatable = are(/^(08...|25006|26000|40001|40P01|57P0.)$/);
/** It may come from a pooler, so it does not tell whether the statement was done. Only reads are sent again. */
export const tellsNothing = are(/^08...$/);
