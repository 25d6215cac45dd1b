import { DatabaseError } from 'pg';
import { QueryFailedError } from 'typeorm';
import { meansUnavailable } from './sqlstates';

/**
 * A failure that is the database's fault and that no PostgreSQL error reports: no connection, no answer in time, or too
 * many statements waiting. The API answers 503.
 */
export class DatabaseUnavailable extends Error {
  override readonly name: string = 'DatabaseUnavailable';
}

/**
 * The connection was lost while a statement that writes was under way, or its commit is not safe yet: it may have been
 * done, or may still be.
 */
export class OutcomeUnknown extends DatabaseUnavailable {
  override readonly name = 'OutcomeUnknown';
}

/** The server did not begin the statement, because another one of its batch failed. */
export class StatementSkipped extends DatabaseUnavailable {
  override readonly name = 'StatementSkipped';
}

/** Whether the database, not the request, caused the failure. Decided by class and SQLSTATE, never by text. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return true;
  if (error instanceof QueryFailedError) return isUnavailable(error.driverError);
  return error instanceof DatabaseError && meansUnavailable(error.code);
}

/** Whether the failed statement may have been done all the same. */
export function isOutcomeUnknown(error: unknown): boolean {
  if (error instanceof QueryFailedError) return isOutcomeUnknown(error.driverError);
  return error instanceof OutcomeUnknown;
}
