import pino, { type DestinationStream, type Logger } from 'pino';
import type { Environment } from '../config/environment';
import { describeError } from './redact';

let stamped = { at: 0, text: '' };

/**
 * The time of a log line. Many lines share a millisecond, and formatting a date takes longer than the rest of the
 * line.
 */
function isoTime(): string {
  const at = Date.now();
  if (at !== stamped.at) stamped = { at, text: `,"time":"${new Date(at).toISOString()}"` };
  return stamped.text;
}

/**
 * Structured logs on standard output. Requests are logged by path only: headers and bodies hold tokens, nonces and
 * signatures. Texts of library errors are redacted.
 */
export function createLogger(
  { LOG_LEVEL, NODE_ENV }: Pick<Environment, 'LOG_LEVEL' | 'NODE_ENV'>,
  destination: DestinationStream = standardOutput(NODE_ENV),
): Logger {
  return pino(
    {
      level: LOG_LEVEL,
      base: null,
      timestamp: isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
    },
    destination,
  );
}

/**
 * Production writes lines in blocks, at least once a second and at exit. One write per request would cost more than
 * the line.
 */
const standardOutput = (environment: Environment['NODE_ENV']): DestinationStream =>
  pino.destination({
    dest: 1,
    sync: environment !== 'production',
    minLength: environment === 'production' ? 4096 : 0,
    periodicFlush: environment === 'production' ? 1000 : 0,
  });
