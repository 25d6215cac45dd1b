import { AnswerTooLarge, readBounded } from '#platform/http/read-bounded';
import type { RpcEndpoint } from '#ledger/chain/endpoints';
import { retryAfterMs } from './retry-after';

export type RetryKind = 'rate_limit' | 'http' | 'network' | 'timeout' | 'incomplete' | 'batch_size';

/** The request came to nothing. The same one may work later. */
export class Retryable extends Error {
  /** @param restMs for how long the endpoint wants to be left alone */
  constructor(
    readonly kind: RetryKind,
    message: string,
    readonly restMs?: number,
  ) {
    super(message);
  }
}

/** The endpoint does not take so many calls in one request. */
export class BatchRefused extends Error {
  /** @param isAny it takes no batches at all */
  constructor(readonly isAny = false) {
    super('the batch was refused');
  }
}

/** A larger answer is refused, so that no endpoint can exhaust our memory. A full batch of events has about 8 MB. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

/** Sends calls in one HTTP request. @returns an object or an array @throws Retryable, BatchRefused, AnswerTooLarge */
export async function post(
  { name, url, headers }: RpcEndpoint,
  body: object,
  calls: number,
  answerMs: number,
): Promise<object> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      // As the API does: what is asked goes to the configured addresses alone.
      redirect: 'error',
      signal: AbortSignal.timeout(answerMs),
    });
    text = await readBounded(response, MAX_ANSWER_BYTES);
  } catch (error) {
    if (error instanceof AnswerTooLarge) throw error;
    const kind = (error as Error).name === 'TimeoutError' ? 'timeout' : 'network';
    throw new Retryable(kind, `${name}: ${causeOf(error as Error)}`);
  }
  const { status } = response;
  const restMs = status === 429 || status === 503 ? retryAfterMs(response.headers) : undefined;
  if (status === 429 || restMs !== undefined)
    throw new Retryable(status === 429 ? 'rate_limit' : 'http', `HTTP ${status}`, restMs);
  if (status === 413 && calls > 1) throw new BatchRefused();
  const answer = parsed(text);
  if (typeof answer === 'object' && answer !== null) return answer;
  // A gateway with a limit of its own answers in HTML, or with a text as JSON.
  if (calls > 1 && status >= 400 && status < 500) throw new BatchRefused();
  throw new Retryable('http', `HTTP ${status}, not JSON-RPC`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** What fetch says hides the cause: `fetch failed: ECONNREFUSED`. */
function causeOf({ message, cause }: Error): string {
  const { code, message: reason } = (cause ?? {}) as Error & { code?: string };
  return [message, code ?? reason].filter(Boolean).join(': ');
}
