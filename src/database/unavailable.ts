import { DatabaseError } from 'pg';
import { QueryFailedError } from 'typeorm';

/**
 * The database, and not the request, is the reason of a failure that PostgreSQL itself did not report: no
 * connection, no answer in time, or too many statements waiting. The API answers 503.
 */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable';
}

/**
 * SQLSTATE classes and codes after which another try may succeed: connection exceptions (08), a server that is
 * read-only, as one is that has just been demoted or is not promoted yet (25006), idle and long transactions (25P03,
 * 25P04), serialization failures and deadlocks (40001, 40P01), insufficient resources (53), lock not available
 * (55P03), operator intervention (57: shutdown, start-up, crash of another backend, statement timeout), and errors of
 * the operating system (58).
 */
const SQLSTATE = /^(08...|25006|25P03|25P04|40001|40P01|53...|55P03|57...|58...)$/;

/** Whether the database, and not the request, is the reason of the failure: by class and SQLSTATE, never by text. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return true;
  if (error instanceof QueryFailedError) return isUnavailable(error.driverError);
  return error instanceof DatabaseError && SQLSTATE.test(error.code ?? '');
}
