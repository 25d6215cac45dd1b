import { setTimeout as delay } from 'node:timers/promises';

/** A wait is counted in so many steps, so that a process that stands still does not take its own pause for the other's. */
const STEPS = 5;

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
    let stop: () => void;
    const step = (left: number): void => {
      if (left > 0) stop = afterIo(ms / STEPS, () => step(left - 1));
      else if (late) reject(late());
      else resolve(undefined);
    };
    step(STEPS);
    promise.then(resolve, reject).finally(() => stop());
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
