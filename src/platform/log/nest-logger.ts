import type { LoggerService } from '@nestjs/common';
import type { Level, Logger } from 'pino';
import { redact, redactText } from './redact';
import { currentRequest } from './request-line';

/** NestJS contexts that log every module and route at startup. */
const WIRING = new Set<string | undefined>([
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestFactory',
]);

const STACK = /^.*\n\s+at /;

/**
 * Passes lines of the NestJS Logger to pino with the id and the trace of the current request: text as `msg`, objects as `data`,
 * errors as `err`. The last text is the context, as in ConsoleLogger. Secrets are removed by field name and by form.
 */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, ...rest: unknown[]): void {
    this.write(WIRING.has(contextOf(rest)) ? 'debug' : 'info', message, rest);
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.write('trace', message, rest);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.write('warn', message, rest);
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.write('error', message, rest);
  }

  fatal(message: unknown, ...rest: unknown[]): void {
    this.write('fatal', message, rest);
  }

  private write(level: Level, message: unknown, rest: unknown[]): void {
    if (!this.logger.isLevelEnabled(level)) return;
    const context = contextOf(rest);
    const texts: string[] = [];
    const data: unknown[] = [];
    let err: Error | undefined;
    let stack: string | undefined;
    for (const part of [message, ...(context === undefined ? rest : rest.slice(0, -1))]) {
      if (part instanceof Error && !err) err = part;
      else if (typeof part === 'string' && part !== message && STACK.test(part)) stack = redactText(part);
      else if (typeof part === 'object' && part !== null) data.push(part);
      else if (part !== undefined) texts.push(safely(() => nameOf(part)));
    }
    const fields = {
      ...currentRequest(),
      context,
      stack,
      data: data.length === 0 ? undefined : safely(() => redact(data.length === 1 ? data[0] : data)),
      err,
    };
    this.logger[level](fields, texts.length > 0 || !err ? texts.join(' ') : redactText(err.message));
  }
}

function contextOf(rest: unknown[]): string | undefined {
  const last = rest[rest.length - 1];
  return typeof last === 'string' && !STACK.test(last) ? last : undefined;
}

/** Logs classes by name and functions by what they return, as ConsoleLogger does. */
function nameOf(part: unknown): string {
  if (typeof part !== 'function') return redactText(part);
  return redactText(part.toString().startsWith('class ') ? part.name : (part as () => unknown)());
}

/** Logging must not throw, even if a getter, a proxy or a function does. */
function safely<T>(read: () => T): T | string {
  try {
    return read();
  } catch (error) {
    return `[unreadable: ${error instanceof Error ? error.message : typeof error}]`;
  }
}
