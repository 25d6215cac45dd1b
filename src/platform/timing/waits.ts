import { setTimeout as delay } from 'node:timers/promises';

/**
 * Settles as the promise does, or after `ms`, whichever comes first; what has arrived by then counts. The promise goes
 * on unheard.
 * @param late the error with which it then fails; without it, it gives undefined
 */
export function within<Result>(ms: number, promise: Promise<Result>): Promise<Result | undefined>;
export function within<Result>(ms: number, promise: Promise<Result>, late: () => Error): Promise<Result>;
export function within<Result>(
  ms: number,
  promise: Promise<Result>,
  late?: () => Error,
): Promise<Result | undefined> {
  return new Promise((resolve, reject) => {
    const stop = afterIo(ms, () => (late ? reject(late()) : resolve(undefined)));
    promise.then(resolve, reject).finally(stop);
  });
}

/** Waits for `ms`, or less if the signal ends it. It does not keep the process alive. Never fails. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal, ref: false }).catch(() => undefined);
}

/**
 * A timeout that reads what has arrived before it counts, because in a busy process timers run before sockets. It does
 * not keep the process alive: what is waited for has a connection that does, or a pause before the next one.
 * @param ms none or less: the moment has passed, as that of a deadline may in a busy process
 * @returns a function that stops it
 */
export function afterIo(ms: number, callback: () => void): () => void {
  let immediate: NodeJS.Immediate | undefined;
  const timeout = setTimeout(() => (immediate = setImmediate(callback)), Math.max(0, ms)).unref();
  return () => {
    clearTimeout(timeout);
    clearImmediate(immediate);
  };
}
