/**
 * Resolves after the given number of milliseconds.
 * @throws the signal's reason if it aborts first
 */
export function wait(ms: number, signal?: AbortSignal | null): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/**
 * Milliseconds to wait after the nth attempt, from 1. Doubles each time, with jitter so that clients do not return
 * together.
 */
export const backoff = (attempt: number, firstMs: number, mostMs: number): number =>
  Math.min(mostMs, firstMs * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2);

/**
 * Waits for the promise, but not longer than the signal lets. What the promise stands for goes on.
 * @throws the signal's reason if it aborts first
 */
export function untilAborted<T>(promise: Promise<T>, signal?: AbortSignal | null): Promise<T> {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    void promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** For work in the background: waits, but does not keep a process of Node.js alive. */
export const rest = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms) as number | { unref(): void };
    if (typeof timer === 'object') timer.unref();
  });
