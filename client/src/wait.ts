/**
 * Resolves after the given number of milliseconds.
 * @throws the signal's reason if it aborts first
 */
export function wait(ms: number, signal?: AbortSignal | null): Promise<void> {
  let timer: ReturnType<typeof setTimeout>;
  const over = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  return untilAborted(over, signal).finally(() => clearTimeout(timer));
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

/** Node would wait for the timer before it ends. */
export const unref = (timer: unknown): void => void (timer as { unref?: () => void }).unref?.();

/** For work in the background: waits, but does not keep a process of Node.js alive. */
export const rest = (ms: number): Promise<void> => new Promise((resolve) => unref(setTimeout(resolve, ms)));

/** Reads once, and again only after a failure or an answer that does not count. */
export function remembered<T>(
  read: () => Promise<T>,
  counts: (answer: T) => boolean = () => true,
): () => Promise<T> {
  let known: Promise<T> | undefined;
  return async () => {
    const forget = (): void => void (known = undefined);
    known ??= read();
    const answer = await known.catch((error: unknown) => {
      forget();
      throw error;
    });
    if (!counts(answer)) forget();
    return answer;
  };
}

/** 128 random bits. Pages on plain http have no `randomUUID`. */
export const randomKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );
