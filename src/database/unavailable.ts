import { DatabaseError } from 'pg';
import { QueryFailedError } from 'typeorm';

/**
 * The database, not the request, caused a failure that PostgreSQL did not report itself: no connection, no answer in
 * time, or too many waiting statements. The API answers 503.
 */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable';
}

/**
 * SQLSTATE classes and codes after which a retry may succeed: connection exceptions (08), a read-only server, which
 * was demoted or is not promoted yet (25006), idle and long transactions (25P03, 25P04), serialization failures and
 * deadlocks (40001, 40P01), insufficient resources (53), lock not available (55P03), operator intervention (57:
 * shutdown, startup, crash of another backend, statement timeout), and operating system errors (58).
 */
const SQLSTATE = /^(08...|25006|25P03|25P04|40001|40P01|53...|55P03|57...|58...)$/;

/** Whether the database, not the request, caused the failure. Decided by class and SQLSTATE, never by text. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return true;
  if (error instanceof QueryFailedError) return isUnavailable(error.driverError);
  return error instanceof DatabaseError && SQLSTATE.test(error.code ?? '');
}
