import { AnswerTooLarge, readBounded } from '#platform/http/read-bounded';
import { retryAfterOf } from '#platform/http/retry-after';
import { type RpcEndpoint, printable } from './endpoints';

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

/** The node answered a call with an error. */
export class NodeError {
  constructor(
    readonly code: number,
    /** Without secrets of the address. */
    readonly message: string,
    /** The node ran the call, and the contract reverted. */
    readonly isRevert: boolean,
    /** Beside the message: of a revert, the contract's error as hex digits. */
    readonly data?: string,
  ) {}
}

/** Providers use the same error code for too many requests and too many results, so only the text tells. */
const RATE_LIMIT = /rate.?limit|too many requests|request (count|limit)|per second|throughput|capacity/i;
const BATCH_LIMIT = /batch/i;
const REVERT = /revert|invalid opcode/i;
const SHOWN_CHARACTERS = 200;
/** An endpoint that wants to be left alone for longer is asked again after this. */
const MOST_REST_SECONDS = 60;

/** Ids are unique, so that no request takes the answer to another one. */
let lastId = 0;

/**
 * Sends calls in one HTTP request, several as a batch. All answers of nodes are interpreted here.
 * @param mostBytes of the answer, unpacked, so that no endpoint can exhaust our memory
 * @returns results in the order of the calls; a NodeError for each call that the node refuses
 * @throws Retryable, BatchRefused, AnswerTooLarge
 */
export async function ask(
  endpoint: RpcEndpoint,
  calls: [method: string, params: unknown[]][],
  mostBytes: number,
  signal: AbortSignal,
): Promise<unknown[]> {
  const requests = calls.map(([method, params]) => ({ jsonrpc: '2.0', id: ++lastId, method, params }));
  const isOne = requests.length === 1;
  const answers = await post(endpoint, isOne ? requests[0] : requests, isOne, mostBytes, signal);
  const list = [answers].flat().filter(isObject);
  // Some nodes send ids as texts.
  const byId = new Map(
    list.map((answer) => [typeof answer.id === 'string' ? Number(answer.id) : answer.id, answer]),
  );
  // Some nodes refuse a batch by one error, others by the same error for each call, or answer one call of it.
  const [first] = list;
  const isWhole = !isOne && !Array.isArray(answers);
  const hasOurs = requests.some(({ id }) => byId.has(id));
  const whole = first?.error && list.length === 1 && (isWhole || !hasOurs);
  if (isWhole && first && 'result' in first) throw new BatchRefused(true);
  const results = requests.map(({ id, method }) => {
    const answer = byId.get(id) ?? (whole ? first : undefined);
    if (!answer) throw new Retryable('incomplete', `${method}: no answer with its id`);
    // Some nodes send `"error": null` beside a result.
    if (answer.error) {
      const error = errorOf(endpoint, answer.error);
      // An error for the whole request may have any id. A revert with another id is that of another call.
      if (!error.isRevert || answer.id == null || hasOurs) return error;
      throw new Retryable('incomplete', `${method}: a revert with another id`);
    }
    if ('result' in answer) return answer.result;
    throw new Retryable('incomplete', `${method}: answer without result`);
  });
  const isRefusal = (result: unknown): boolean =>
    result instanceof NodeError && !result.isRevert && BATCH_LIMIT.test(result.message);
  if (!isOne && (whole || results.every(isRefusal))) throw new BatchRefused();
  return results;
}

/** @returns an object or an array */
async function post(
  { url, headers }: RpcEndpoint,
  body: object,
  isOne: boolean,
  mostBytes: number,
  signal: AbortSignal,
): Promise<object> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      // Requests go to the configured addresses only.
      redirect: 'error',
      // Applies to the body too: fetch aborts it when the signal fires.
      signal,
    });
    text = await readBounded(response, mostBytes);
  } catch (error) {
    if (error instanceof AnswerTooLarge) throw error;
    throw new Retryable(
      (error as Error).name === 'TimeoutError' ? 'timeout' : 'network',
      causeOf(error as Error),
    );
  }
  const { status } = response;
  const [value, date] = ['retry-after', 'date'].map((name) => response.headers.get(name));
  const rest = status === 429 || status === 503 ? retryAfterOf(value, date, MOST_REST_SECONDS) : undefined;
  if (status === 429 || rest !== undefined)
    throw new Retryable(status === 429 ? 'rate_limit' : 'http', `HTTP ${status}`, rest && rest * 1000);
  if (status === 413 && !isOne) throw new BatchRefused();
  // Some nodes answer a revert with a status other than 200, so the body decides.
  const answer = parsed(text);
  if (isObject(answer)) return answer;
  // A gateway with a limit of its own answers in HTML, or with a text as JSON.
  if (!isOne && status >= 400 && status < 500) throw new BatchRefused();
  throw new Retryable('http', `HTTP ${status}, not JSON-RPC`);
}

/**
 * A revert has code 3 in the execution API, -32015 ("VM execution error.") in Nethermind and OpenEthereum, the words of
 * older nodes in the message or, beside a code, in the data.
 * @throws Retryable when there were too many requests
 */
function errorOf(endpoint: RpcEndpoint, error: unknown): NodeError {
  // Some gateways send a text as error.
  const { code, message, data }: Record<string, unknown> = isObject(error) ? error : { message: error };
  const said = typeof message === 'string' ? message : 'error without message';
  const isRevert =
    code === 3 || code === -32015 || REVERT.test(said) || (typeof data === 'string' && REVERT.test(data));
  const shown = printable(endpoint, said).slice(0, SHOWN_CHARACTERS);
  // A contract chooses the words of its reverts.
  if (!isRevert && (code === 429 || RATE_LIMIT.test(said.slice(0, SHOWN_CHARACTERS))))
    throw new Retryable('rate_limit', shown);
  const words = typeof data === 'string' ? data : undefined;
  return new NodeError(typeof code === 'number' ? code : 0, shown, isRevert, words);
}

/** Whether a node sent an object, or a list. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !(value instanceof Error);

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
