import { tracingChannel } from 'node:diagnostics_channel';
import type { Statement } from '#platform/postgres/statement';

/** A call of `Database`: the message of the channel. Without the values, which may be secret. */
export interface StatementCall {
  /** Name of the statement. */
  readonly name: string;
  readonly kind: 'read' | 'write' | 'joined';
  /** How many calls the statement carried in which a joined one was sent the last time. */
  calls?: number;
  /** Set by Node before `error` and `asyncEnd`. */
  error?: unknown;
  /** The rows. Set by Node before `asyncEnd`. */
  result?: unknown;
}

/**
 * Subscribe with the same name. `start` is published in the caller's async context. A call that began before, for other
 * subscribers, has only an end.
 */
const channel = tracingChannel<unknown, StatementCall>('database:statement');

/** Tells subscribers when the call starts, ends and fails. Nobody pays for it while there are none. */
export function traced<Result>(
  { name }: Statement,
  kind: StatementCall['kind'],
  run: (call?: StatementCall) => Promise<Result>,
): Promise<Result> {
  if (!channel.hasSubscribers) return run();
  const call: StatementCall = { name, kind };
  return channel.tracePromise(() => run(call), call);
}
