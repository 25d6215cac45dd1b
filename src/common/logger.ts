import type { LoggerService } from '@nestjs/common';
import pino, { type DestinationStream, type Logger } from 'pino';
import type { Environment } from '../config/environment';
import { redact } from './redact';

/** Of an error what helps to find it. Others of its fields may hold statements' parameters, bodies or tokens. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: redact(String(error)) };
  const { name, message, stack, code, constraint, table } = error as Error & Record<string, unknown>;
  return { name, message: redact(message), stack: stack && redact(stack), code, constraint, table };
}

let stamped = { at: 0, text: '' };

/** Time of a line. Many fall into one millisecond, and writing a date takes longer than the rest of the line. */
function isoTime(): string {
  const at = Date.now();
  if (at !== stamped.at) stamped = { at, text: `,"time":"${new Date(at).toISOString()}"` };
  return stamped.text;
}

/**
 * Structured logs on standard output. Requests are logged by their path alone: headers and bodies, which hold tokens,
 * nonces and signatures, never reach the log; what libraries write into their errors is redacted.
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

/** Production writes lines in blocks, at least once a second and at exit: a write a request costs more than the line. */
const standardOutput = (environment: Environment['NODE_ENV']): DestinationStream =>
  pino.destination({
    dest: 1,
    sync: environment !== 'production',
    minLength: environment === 'production' ? 4096 : 0,
    periodicFlush: environment === 'production' ? 1000 : 0,
  });

/** Contexts of NestJS that list every module and route at start. */
const WIRING = new Set<string | undefined>([
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestFactory',
]);

/** Sends the messages of NestJS through the same logger. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, context?: string): void {
    this.logger[WIRING.has(context) ? 'debug' : 'info']({ context }, redact(String(message)));
  }

  debug(message: unknown, context?: string): void {
    this.logger.debug({ context }, redact(String(message)));
  }

  verbose(message: unknown, context?: string): void {
    this.logger.trace({ context }, redact(String(message)));
  }

  warn(message: unknown, context?: string): void {
    this.logger.warn({ context }, redact(String(message)));
  }

  error(message: unknown, ...rest: string[]): void {
    const context = rest.pop();
    if (message instanceof Error) this.logger.error({ err: message, context }, redact(message.message));
    else this.logger.error({ context, stack: rest[0] && redact(rest[0]) }, redact(String(message)));
  }

  fatal(message: unknown, context?: string): void {
    this.logger.fatal({ context }, redact(String(message)));
  }
}
