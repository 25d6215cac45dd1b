import { DatabaseError } from 'pg';
import { QueryFailedError } from 'typeorm';

/**
 * The database, not the request, caused a failure that PostgreSQL did not report itself: no connection, no answer in
 * time, or too many waiting statements. The API answers 503.
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

/**
 * SQLSTATE classes and codes after which a retry may succeed: connection exceptions (08), a read-only server, which
 * was demoted or is not promoted yet (25006), idle and long transactions (25P03, 25P04), a prepared statement that a
 * pooler lost (26000), serialization failures, conflicts with recovery and deadlocks (40001, 40P01), insufficient
 * resources (53), lock not available (55P03), operator intervention (57: shutdown, startup, crash of another backend,
 * statement timeout), and operating system errors (58).
 */
const SQLSTATE = /^(08...|25006|25P03|25P04|26000|40001|40P01|53...|55P03|57...|58...)$/;

/** Whether the database, not the request, caused the failure. Decided by class and SQLSTATE, never by text. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return true;
  if (error instanceof QueryFailedError) return isUnavailable(error.driverError);
  return error instanceof DatabaseError && SQLSTATE.test(error.code ?? '');
}

/** Whether the failed statement may have been done all the same. */
export function isOutcomeUnknown(error: unknown): boolean {
  if (error instanceof QueryFailedError) return isOutcomeUnknown(error.driverError);
  return error instanceof OutcomeUnknown;
}

/** After these errors the connection is not used again: shutdown, crash, a demoted server, a missing statement. */
export const CONNECTION_ENDS = /^(08...|25006|26000|57P..)$/;
export const LOCKED = '55P03'; // its holder's commit may wait for a standby
/** A prepared statement is missing, as poolers lose them. */
export const NOT_PREPARED = '26000';
/**
 * After these errors nothing was done, and the same statement may succeed: a demoted server, a prepared statement that
 * a pooler lost, conflicts with others, shutdown. After a connection exception (08) only reads are sent again.
 */
export const REPEATABLE = /^(08...|25006|26000|40001|40P01|57P0.)$/;
