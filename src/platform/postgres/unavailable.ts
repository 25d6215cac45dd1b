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

/** Whether the failed statement may have been done all the same. */
export function isOutcomeUnknown(error: unknown): boolean {
  if (error instanceof QueryFailedError) return isOutcomeUnknown(error.driverError);
  return error instanceof OutcomeUnknown;
}

/** Wrong user, wrong password, no rights to connect, or no such database. */
const REFUSALS = ['28000', '28P01', '42501', '3D000'];
/** What Node says of certificates and TLS, and pg of a server without TLS, which has no code. */
const TLS_CODE = /^(ERR_TLS|ERR_SSL|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_)/;
const NO_TLS = 'The server does not support SSL connections';

/** Whether no connection was made for a reason that stays until somebody changes a setting or a right. */
export function isRefusal(error: unknown): boolean {
  const { cause } = error as { cause?: Error & { code?: string } };
  if (!(error instanceof DatabaseUnavailable) || cause === undefined) return false;
  const { code = '', message } = cause;
  return REFUSALS.includes(code) || TLS_CODE.test(code) || message === NO_TLS;
}
