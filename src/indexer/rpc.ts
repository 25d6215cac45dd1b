import { setTimeout as sleep } from 'node:timers/promises';

/** What may befall a reader of a chain; reading again later may help. */
export class ChainTrouble extends Error {}

/** The node answered that it will not do this: asking again for the same is of no use. */
export class RpcError extends ChainTrouble {
  constructor(
    method: string,
    readonly code: number,
    message: string,
  ) {
    super(`${method}: ${message}`);
  }
}

/** The node did not answer usably for several seconds. */
export class RpcUnavailable extends ChainTrouble {}

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
 * In ms: longest wait for one answer, time after which no further try is made, and wait before the first retry, which
 * doubles. The first two together stay below the age at which a leader's beat counts as stale.
 */
const TIMES = { answer: 2500, patience: 5000, backoff: 100 };
/** Providers use one and the same code for too many requests and for too many results. */
const RATE_LIMIT = /rate.?limit|too many requests|request (count|limit)|per second|throughput|capacity/i;

/**
 * JSON-RPC 2.0 over HTTP. Failures of the way (network, 429, 5xx, timeout, lost or mangled answers) are retried
 * with jittered exponential backoff; answers that are errors are not.
 */
export class Rpc {
  private id = 0;

  constructor(
    private readonly url: string,
    private readonly onRetry: (kind: RetryKind) => void = () => undefined,
    private readonly times = TIMES,
  ) {}

  async call<T>(method: string, ...params: unknown[]): Promise<T> {
    const [result] = await this.batch<[T]>([[method, params]]);
    return result;
  }

  /** @throws RpcError for the first call that the node refuses; otherwise as `settled` */
  async batch<T extends unknown[]>(calls: Call[]): Promise<T> {
    const results = await this.settled(calls);
    for (const result of results) if (result instanceof RpcError) throw result;
    return results as T;
  }

  /**
   * Sends all calls in one HTTP request, so that behind a balancer one node answers them all.
   * @returns results in the order of the calls, whatever order the node answers in; an RpcError for what it refuses
   */
  async settled(calls: Call[]): Promise<unknown[]> {
    const start = Date.now();
    for (let wait = this.times.backoff; ; wait *= 2) {
      try {
        return await this.send(calls);
      } catch (error) {
        if (!(error instanceof Retryable)) throw error;
        this.onRetry(error.kind);
        const jittered = wait * (0.5 + Math.random());
        if (Date.now() + jittered - start > this.times.patience) throw new RpcUnavailable(error.message);
        await sleep(jittered);
      }
    }
  }

  private async send(calls: Call[]): Promise<unknown[]> {
    const requests = calls.map(([method, params]) => ({ jsonrpc: '2.0', id: ++this.id, method, params }));
    const answers = await this.post(requests.length === 1 ? requests[0] : requests);
    const list = (Array.isArray(answers) ? answers : [answers]) as (Answer | null)[];
    const byId = new Map(list.map((answer) => [answer?.id, answer]));
    return requests.map(({ id, method }) => {
      // Some nodes refuse a whole batch with one error without id.
      const answer = byId.get(id) ?? (list[0]?.error && list.length === 1 ? list[0] : undefined);
      if (!answer) throw new Retryable('incomplete', `${method}: no answer in the batch`);
      if (!answer.error) {
        if ('result' in answer) return answer.result;
        throw new Retryable('incomplete', `${method}: answer without result`);
      }
      const { code = 0, message = 'error without message' } = answer.error;
      if (code === 429 || RATE_LIMIT.test(message)) throw new Retryable('rate_limit', message);
      return new RpcError(method, code, message);
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
        signal: AbortSignal.timeout(this.times.answer),
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
