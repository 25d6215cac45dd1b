import pino, { type DestinationStream, type Logger } from 'pino';
import { describeError } from './redact';

/**
 * Structured logs on standard output. Requests are logged by path only: headers and bodies hold tokens, nonces and
 * signatures. Texts of library errors are redacted.
 */
export function createLogger(
  level: string,
  isProduction: boolean,
  destination: DestinationStream = standardOutput(isProduction),
): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
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
const standardOutput = (isProduction: boolean): DestinationStream =>
  pino.destination({
    dest: 1,
    sync: !isProduction,
    minLength: isProduction ? 4096 : 0,
    periodicFlush: isProduction ? 1000 : 0,
  });
