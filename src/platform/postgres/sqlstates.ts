/** What PostgreSQL, or a pooler in its place, says with an SQLSTATE. What is absent does not hold. */
interface SqlState {
  readonly means: string;
  /** The database was the reason, not the request, and a retry may succeed. */
  readonly unavailable?: true;
  /** The connection gets no more statements. */
  readonly retires?: true;
  /** PostgreSQL ends the session by itself, between statements or in one, whose transaction it rolls back. */
  readonly endsSession?: true;
  /** Nothing was done, and the same statement may succeed. */
  readonly repeatable?: true;
  /** It may come from a pooler, so it does not tell whether the statement was done. Only reads are sent again. */
  readonly tellsNothing?: true;
}

/** Its holder's commit may wait for a standby. */
export const LOCKED = '55P03';
/** A prepared statement is missing, as poolers lose them. */
export const NOT_PREPARED = '26000';
/** By its timeout, or by an administrator. */
export const CANCELLED = '57014';
export const OUT_OF_RANGE = '22023';
export const WARNING = '01000';

/** By SQLSTATE, or by the beginning of several. The longest that fits counts. */
const STATES = new Map<string, SqlState>([
  [
    '08',
    { means: 'connection exception', unavailable: true, retires: true, repeatable: true, tellsNothing: true },
  ],
  [
    '25006',
    { means: 'server demoted, or not promoted yet', unavailable: true, retires: true, repeatable: true },
  ],
  ['25P03', { means: 'transaction idle for too long', unavailable: true, endsSession: true }],
  ['25P04', { means: 'transaction too long', unavailable: true, endsSession: true }],
  [NOT_PREPARED, { means: 'prepared statement missing', unavailable: true, retires: true, repeatable: true }],
  [
    '40001',
    { means: 'serialization failure, or conflict with recovery', unavailable: true, repeatable: true },
  ],
  ['40P01', { means: 'deadlock', unavailable: true, repeatable: true }],
  ['53', { means: 'insufficient resources', unavailable: true }],
  [LOCKED, { means: 'lock not available in time', unavailable: true }],
  ['57', { means: 'statement cancelled, by its timeout for example', unavailable: true }],
  ['57P', { means: 'operator intervention', unavailable: true, retires: true }],
  [
    '57P0',
    {
      means: 'server starts, or stops because another backend crashed',
      unavailable: true,
      retires: true,
      repeatable: true,
    },
  ],
  [
    '57P01',
    {
      means: 'session ended by shutdown or an administrator',
      unavailable: true,
      retires: true,
      endsSession: true,
      repeatable: true,
    },
  ],
  [
    '57P04',
    { means: 'database dropped', unavailable: true, retires: true, endsSession: true, repeatable: true },
  ],
  [
    '57P05',
    {
      means: 'session idle for too long',
      unavailable: true,
      retires: true,
      endsSession: true,
      repeatable: true,
    },
  ],
  ['58', { means: 'error of the operating system', unavailable: true }],
]);

const LENGTH = 5;
const SHORTEST = 2;

/** Undefined also for the codes of Node.js, such as ECONNRESET, which pg's errors have in the same field. */
function stateOf(code = ''): SqlState | undefined {
  if (code.length !== LENGTH) return undefined;
  for (let length = LENGTH; length >= SHORTEST; length--) {
    const state = STATES.get(code.slice(0, length));
    if (state) return state;
  }
  return undefined;
}

type Code = string | undefined;

export const meansUnavailable = (code: Code): boolean => stateOf(code)?.unavailable ?? false;
export const retiresConnection = (code: Code): boolean => stateOf(code)?.retires ?? false;
export const endsSession = (code: Code): boolean => stateOf(code)?.endsSession ?? false;
export const isRepeatable = (code: Code): boolean => stateOf(code)?.repeatable ?? false;
export const tellsNothing = (code: Code): boolean => stateOf(code)?.tellsNothing ?? false;
