import { setTimeout as sleep } from 'node:timers/promises';

/** The node answered that it will not do this: asking again for the same is of no use. */
export class RpcError extends Error {
  constructor(
    readonly method: string,
    readonly code: number,
    message: string,
  ) {
    super(`${method}: ${message}`);
  }
}

/** The node did not answer usably for several seconds. */
export class RpcUnavailable extends Error {}

export type Call = [method: string, params: unknown[]];
export type RetryKind = 'rate_limit' | 'http' | 'network' | 'incomplete';

interface Answer {
  id?: number;
  result?: unknown;
  error?: { code?: number; message?: string };
}

class Retryable extends Error {
  constructor(
    readonly kind: RetryKind,
    message: string,
  ) {
    super(message);
  }
}

/**
 * Longest wait for one answer, and time after which no further try is made, in ms. Together they stay below the age
 * at which a leader's beat counts as stale.
 */
const TIMEOUT = 2500;
const PATIENCE = 5000;
/** Wait in ms before the nth retry, doubled each time. */
const BACKOFF = 50;
const RATE_LIMIT = /rate.?limit|too many requests|request limit|throughput|capacity/i;

/**
 * JSON-RPC 2.0 over HTTP. Failures of the way (network, 429, 5xx, timeout, lost or mangled answers) are retried
 * with jittered exponential backoff; answers that are errors are not.
 */
export class Rpc {
  private id = 0;

  constructor(
    private readonly url: string,
    private readonly onRetry: (kind: RetryKind) => void = () => undefined,
  ) {}

  async call<T>(method: string, ...params: unknown[]): Promise<T> {
    const [result] = await this.batch<[T]>([[method, params]]);
    return result;
  }

  /**
   * Sends all calls in one HTTP request, so that behind a balancer one node answers them all.
   * @returns results in the order of the calls, whatever order the node answers in
   * @throws RpcError for the first call that the node refuses
   */
  async batch<T extends unknown[]>(calls: Call[]): Promise<T> {
    const start = Date.now();
    for (let attempt = 1; ; attempt += 1) {
      try {
        return (await this.send(calls)) as T;
      } catch (error) {
        if (!(error instanceof Retryable)) throw error;
        this.onRetry(error.kind);
        const wait = BACKOFF * 2 ** attempt * (0.5 + Math.random());
        if (Date.now() + wait - start > PATIENCE) throw new RpcUnavailable(error.message);
        await sleep(wait);
      }
    }
  }

  private async send(calls: Call[]): Promise<unknown[]> {
    const requests = calls.map(([method, params]) => ({ jsonrpc: '2.0', id: ++this.id, method, params }));
    const answers = await this.post(requests.length === 1 ? requests[0] : requests);
    const list = (Array.isArray(answers) ? answers : [answers]) as Answer[];
    const byId = new Map(list.map((answer) => [answer?.id, answer]));
    return requests.map(({ id, method }) => {
      // Some nodes refuse a whole batch with one error without id.
      const answer = byId.get(id) ?? (list.length === 1 && list[0]?.error ? list[0] : undefined);
      if (!answer) throw new Retryable('incomplete', `${method}: no answer in the batch`);
      if (answer.error) {
        const { code = 0, message = 'error without message' } = answer.error;
        if (code === -32005 || code === 429 || RATE_LIMIT.test(message))
          throw new Retryable('rate_limit', message);
        throw new RpcError(method, code, message);
      }
      if (!('result' in answer)) throw new Retryable('incomplete', `${method}: answer without result`);
      return answer.result;
    });
  }

  private async post(body: unknown): Promise<unknown> {
    let response: Response;
    let text: string;
    try {
      response = await fetch(this.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(TIMEOUT),
      });
      text = await response.text();
    } catch (error) {
      throw new Retryable('network', (error as Error).message);
    }
    if (response.status === 429) throw new Retryable('rate_limit', 'HTTP 429');
    try {
      return JSON.parse(text);
    } catch {
      throw new Retryable('http', `HTTP ${response.status}, not JSON`);
    }
  }
}
