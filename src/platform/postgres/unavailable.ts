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

type Trait =
  /** The database was the reason, not the request, and a retry may succeed. */
  | 'unavailable'
  /** The connection gets no more statements. */
  | 'retires'
  /** PostgreSQL ends the session by itself, between statements or in one, whose transaction it rolls back. */
  | 'endsSession'
  /** Nothing was done, and the same statement may succeed. */
  | 'repeatable'
  /** It may come from a pooler, so it does not tell whether the statement was done. Only reads are sent again. */
  | 'tellsNothing';

/** Its holder's commit may wait for a standby. */
export const LOCKED = '55P03';
/** A prepared statement is missing, as poolers lose them. */
export const NOT_PREPARED = '26000';
/** By its timeout, or by an administrator. */
export const CANCELLED = '57014';
export const OUT_OF_RANGE = '22023';
/** What a guard for standbys says of a server that was promoted. */
export const NO_STANDBY = '55000';
export const WARNING = '01000';

/**
 * What PostgreSQL, or a pooler in its place, says with an SQLSTATE, or with the beginning of several. The longest that
 * fits counts. What is absent does not hold.
 */
const STATES: Readonly<Record<string, readonly [means: string, ...traits: Trait[]] | undefined>> = {
  '08': ['connection exception', 'unavailable', 'retires', 'repeatable', 'tellsNothing'],
  '25006': ['server demoted, or not promoted yet', 'unavailable', 'retires', 'repeatable'],
  '25P03': ['transaction idle for too long', 'unavailable', 'endsSession'],
  '25P04': ['transaction too long', 'unavailable', 'endsSession'],
  [NOT_PREPARED]: ['prepared statement missing', 'unavailable', 'retires', 'repeatable'],
  '40001': ['serialization failure, or conflict with recovery', 'unavailable', 'repeatable'],
  '40P01': ['deadlock', 'unavailable', 'repeatable'],
  [NO_STANDBY]: ['not in the state that is needed, as a standby that was promoted', 'retires'],
  '53': ['insufficient resources', 'unavailable'],
  [LOCKED]: ['lock not available in time', 'unavailable'],
  '57': ['statement cancelled, by its timeout for example', 'unavailable'],
  '57P': ['operator intervention', 'unavailable', 'retires'],
  '57P0': ['server starts, or stops after a crash of a backend', 'unavailable', 'retires', 'repeatable'],
  '57P01': ['ended by shutdown or an administrator', 'unavailable', 'retires', 'endsSession', 'repeatable'],
  '57P04': ['database dropped', 'unavailable', 'retires', 'endsSession', 'repeatable'],
  '57P05': ['session idle for too long', 'unavailable', 'retires', 'endsSession', 'repeatable'],
  '58': ['error of the operating system', 'unavailable'],
};

const LENGTH = 5;
const SHORTEST = 2;

/** Whether the trait holds. Never for codes of Node.js, such as ECONNRESET, which pg's errors have in the same place. */
const holds =
  (trait: Trait) =>
  (code = ''): boolean => {
    if (code.length !== LENGTH) return false;
    for (let length = LENGTH; length >= SHORTEST; length--) {
      const state = STATES[code.slice(0, length)];
      if (state) return state.includes(trait);
    }
    return false;
  };

export const meansUnavailable = holds('unavailable');
export const retiresConnection = holds('retires');
export const endsSession = holds('endsSession');
export const isRepeatable = holds('repeatable');
export const tellsNothing = holds('tellsNothing');
