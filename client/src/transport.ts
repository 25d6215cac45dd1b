import type { Connection, Pause } from './connection.js';
import { ApiError, NoAnswerError, type SavingsError } from './errors.js';
import type { components } from './schema.js';
import type { Session, SessionEnd } from './session.js';
import { backoff, wait } from './wait.js';

export interface RetryOptions {
  /** How often a request is sent at most. By default 6 times, and with an idempotency key until `maxTotalMs`. */
  attempts?: number;
  /**
   * The longest single wait, in ms, that the service may ask for by Retry-After. If it asks for more, its error is
   * thrown.
   */
  maxWaitMs: number;
  /** The longest time, in ms, that a request may take with all its attempts. */
  maxTotalMs: number;
}

export const DEFAULT_RETRY: RetryOptions = { maxWaitMs: 30_000, maxTotalMs: 120_000 };

const ATTEMPTS = 6;
/** The service answers within 5 s. An attempt for which nothing more has arrived by then is lost. */
const ANSWER_MS = 15_000;
const FIRST_WAIT_MS = 250;
const MOST_WAIT_MS = 8_000;
/** Statuses that a proxy returns when the service does not answer. */
const GATEWAY = new Set([502, 503, 504]);

export const IDEMPOTENCY_KEY = 'idempotency-key';

/** What the service says of a token that it accepts no more. */
const ENDINGS: ReadonlySet<string> = new Set<SessionEnd>([
  'token_expired',
  'token_revoked',
  'invalid_token',
  'unauthorized',
]);
/** Ends what a thief would use: it waits for no limit but its own. */
const LOGOUT = /\/logout(\/all)?$/;

/**
 * A fetch that adds the token, waits when the service asks to, and retries where that is safe: refusals with Retry-After,
 * and after 503 or no answer, requests that only read or have an Idempotency-Key. A request with such a key gets the
 * answer of its first attempt that was carried out, however long that takes. While the service wants no requests none is
 * sent: what cannot wait gets the same refusal again, from here.
 */
export class Transport {
  constructor(
    private readonly send: typeof fetch,
    private readonly session: Session,
    readonly connection: Connection,
    private readonly retry: RetryOptions,
    /**
     * Gets a new token to replace an expired one.
     * @returns false if that is not possible
     */
    private readonly renew: (expired: string) => Promise<boolean>,
  ) {}

  /**
   * Does not throw for error statuses: see `errorOf`.
   * @param isStream its caller reconnects: it is sent again only with a new token, and has no time limit
   * @throws NoAnswerError, or the reason of the request's signal
   */
  async sent(input: Request, { isStream = false } = {}): Promise<Response> {
    const end = isStream ? Infinity : Date.now() + this.retry.maxTotalMs;
    const attempts = this.retry.attempts ?? (input.headers.has(IDEMPOTENCY_KEY) ? Infinity : ATTEMPTS);
    let renewed = false;
    for (let attempt = 1; ; attempt++) {
      const token = await this.session.tokens.get();
      const outcome = await this.attempt(input, token, end);
      if (token && (await this.isRenewed(outcome, token, renewed))) {
        renewed = true;
        continue;
      }
      const pause = isStream ? undefined : this.pause(input, outcome, attempt);
      if (pause === undefined || attempt >= attempts || Date.now() + pause > end) {
        if (outcome instanceof Response) return outcome;
        throw outcome;
      }
      if (outcome instanceof Response) await outcome.body?.cancel();
      await wait(pause, input.signal);
    }
  }

  /** Whether there is a new token. If not, the session ends with what the service says of this one. */
  private async isRenewed(
    outcome: Response | NoAnswerError,
    token: string,
    again: boolean,
  ): Promise<boolean> {
    if (!(outcome instanceof Response) || outcome.status !== 401) return false;
    const { code } = await errorOf(outcome.clone());
    if (!ENDINGS.has(code)) return false;
    if (code === 'token_expired' && !again && (await this.renew(token))) return true;
    await this.session.refused(token, code as SessionEnd);
    return false;
  }

  /** @param end the time at which the answer has to be complete. A stream of events only has to begin. */
  private async attempt(
    input: Request,
    token: string | null,
    end: number,
  ): Promise<Response | NoAnswerError> {
    const pausing = LOGOUT.test(new URL(input.url).pathname) ? undefined : this.connection.pausing;
    if (pausing) return refusal(pausing);
    // Not `AbortSignal.any`, which Safari has had only since 17.4: streams need it, requests must not.
    const limit = new AbortController();
    const abort = (): void => limit.abort(input.signal?.reason);
    if (input.signal?.aborted) abort();
    input.signal?.addEventListener('abort', abort, { once: true });
    let timer: ReturnType<typeof setTimeout> | undefined;
    const waitForMore = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => limit.abort(), Math.min(ANSWER_MS, end - Date.now()));
    };
    waitForMore();
    // A body can be read only once, so each attempt gets a copy.
    const request = new Request(input.clone(), { signal: limit.signal });
    if (token !== null && !request.headers.has('authorization'))
      request.headers.set('authorization', `Bearer ${token}`);
    this.connection.asked();
    try {
      const response = await this.send(request);
      const copy = isStream(response) ? undefined : response.clone().body?.getReader();
      while (copy && !(await copy.read()).done) {
        this.connection.reached();
        waitForMore();
      }
      // A proxy's answer is not the service's.
      if (GATEWAY.has(response.status) && !isJson(response)) this.connection.failed();
      else this.connection.answered();
      if (response.status === 429) await this.noteLimit(response.clone());
      return response;
    } catch (error) {
      if (input.signal?.aborted) this.connection.abandoned();
      else this.connection.failed();
      input.signal?.throwIfAborted();
      return new NoAnswerError('no answer', undefined, error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Milliseconds to wait before the next attempt; undefined if the outcome is final. */
  private pause(input: Request, outcome: Response | NoAnswerError, attempt: number): number | undefined {
    const repeatable =
      input.method === 'GET' || input.method === 'HEAD' || input.headers.has(IDEMPOTENCY_KEY);
    const usual = backoff(attempt, FIRST_WAIT_MS, MOST_WAIT_MS);
    if (!(outcome instanceof Response)) return repeatable ? usual : undefined;
    const { status } = outcome;
    const asked = retryAfterSeconds(outcome);
    // Of 409, only `idempotency_in_progress` has Retry-After: the first request with this key is still running, and a
    // later attempt gets its answer.
    const isRefused = status === 429 || (status === 409 && input.headers.has(IDEMPOTENCY_KEY));
    if (isRefused ? asked === undefined : !(repeatable && GATEWAY.has(status))) return undefined;
    if (asked === undefined) return usual;
    return asked * 1000 <= this.retry.maxWaitMs ? Math.max(asked * 1000, usual) : undefined;
  }

  /** Connections are limited apart: only streams wait for those. */
  private async noteLimit(response: Response): Promise<void> {
    const error = await errorOf(response);
    if (!(error instanceof ApiError) || error.code === 'too_many_connections') return;
    if (!error.retryAfterSeconds) return;
    const until = Date.now() + error.retryAfterSeconds * 1000;
    this.connection.paused({ code: error.code, message: error.message, until });
  }
}

const isStream = ({ headers }: Response): boolean =>
  headers.get('content-type')?.startsWith('text/event-stream') ?? false;
const isJson = ({ headers }: Response): boolean => headers.get('content-type')?.includes('json') ?? false;

/** What the service would answer now. */
const refusal = ({ code, message, until }: Pause): Response =>
  Response.json(
    { success: false, error: message, code },
    { status: 429, headers: { 'retry-after': String(Math.ceil((until - Date.now()) / 1000)) } },
  );

/** Turns an error answer into an error. The response's body must not have been read. */
export async function errorOf(response: Response): Promise<SavingsError> {
  const { status } = response;
  const body = (await response.json().catch(() => undefined)) as
    Partial<components['schemas']['ErrorResponse']> | undefined;
  const { success, code, error, details } = body ?? {};
  if (success !== false || typeof code !== 'string')
    return new NoAnswerError(`an answer that is not the service's, with status ${status}`, status);
  return new ApiError(
    code,
    status,
    error ?? code,
    details ?? [],
    retryAfterSeconds(response),
    response.headers.get('x-request-id') ?? undefined,
  ) as SavingsError;
}

/** Failures that pass: a rolling restart, a rate limit, the network. */
export const isTransient = (error: SavingsError): boolean =>
  !(error instanceof ApiError) || error.status === 429 || error.status >= 500;

/** RFC 9110 allows seconds or a date. Browsers show this header to other origins only if the service exposes it. */
export function retryAfterSeconds({ headers }: Response): number | undefined {
  const text = headers.get('retry-after');
  if (text === null) return undefined;
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}
