import { setTimeout as sleep } from 'node:timers/promises';
import { AnswerTooLarge, readBounded } from '#platform/http/read-bounded';
import type { RpcEndpoint } from '#ledger/chain/endpoints';
import { BatchSize } from './batch-size';

/** Reading the chain failed. Trying again later may help. */
export class RetryableChainError extends Error {}

/** The node answered with an error. Asking again for the same is of no use. */
export class RpcError extends RetryableChainError {
  constructor(
    method: string,
    readonly code: number,
    message: string,
  ) {
    super(`${method}: ${message}`);
  }
}

/** The node gave no usable answer for several seconds. */
export class RpcUnavailable extends RetryableChainError {}

export type Call = [method: string, params: unknown[]];
export type RetryKind = 'rate_limit' | 'http' | 'network' | 'incomplete' | 'batch_size';

interface RpcResponse {
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

/** The endpoint does not take so many calls in one request. */
class BatchRefused extends Error {}

/** `answerMs` and `patienceMs` together are shorter than the time after which a leader's heartbeat is stale. */
const TIMES = {
  /** Timeout of one answer. */
  answerMs: 2500,
  /** After this time nothing is tried again. */
  patienceMs: 5000,
  /** Wait before the second try. It doubles before each further one. */
  backoffMs: 100,
};
/** A larger answer is refused, so that no endpoint can exhaust our memory. A full batch of events has about 8 MB. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
/** A batch that has to be split is sent in so many requests at a time. */
const PARALLEL_REQUESTS = 4;
/** Providers use the same error code for too many requests and too many results, so only the text tells. */
const RATE_LIMIT = /rate.?limit|too many requests|request (count|limit)|per second|throughput|capacity/i;
const BATCH_LIMIT = /batch/i;
/** Shorter parts of an address are words such as `v2`, not keys. */
const SECRET_LENGTH = 8;
const MAX_MESSAGE_LENGTH = 200;

/**
 * JSON-RPC 2.0 over HTTP. Transport failures (network, 429, 5xx, timeout, lost or mangled answers) are retried with
 * jittered exponential backoff. Error answers are not retried.
 */
export class Rpc {
  private id = 0;
  private readonly batchSize = new BatchSize();
  /** The password, and parts of the address that may be API keys. Some providers repeat them in their errors. */
  private readonly secrets: string[];

  constructor(
    private readonly endpoint: RpcEndpoint,
    private readonly onRetry: (kind: RetryKind) => void = () => undefined,
    private readonly times = TIMES,
  ) {
    const { pathname, search } = new URL(endpoint.url);
    const keys = `${pathname}${search}`.split(/[/?&=]/).filter((part) => part.length >= SECRET_LENGTH);
    const basic = endpoint.headers.authorization?.slice('Basic '.length) ?? '';
    const password = Buffer.from(basic, 'base64')
      .toString('utf8')
      .replace(/^[^:]*:/, '');
    this.secrets = [...keys, basic, password].filter((secret) => secret !== '');
  }

  async call<T>(method: string, ...params: unknown[]): Promise<T> {
    const [result] = await this.batch<[T]>([[method, params]]);
    return result;
  }

  /** @throws RpcError of the first call that the node refuses, and what `settled` throws */
  async batch<T extends unknown[]>(calls: Call[], patienceMs?: number): Promise<T> {
    const results = await this.settled(calls, patienceMs);
    for (const result of results) if (result instanceof RpcError) throw result;
    return results as T;
  }

  /** Whether so many calls fit in one HTTP request. If so, one node answers all of them, even behind a balancer. */
  fitsOneRequest(calls: number): boolean {
    return calls <= this.batchSize.limit;
  }

  /**
   * Sends all calls in one HTTP request, or in several if the endpoint accepts fewer at once.
   * @returns results in the order of the calls; an RpcError for each call that the node refuses
   * @throws RpcUnavailable
   */
  async settled(calls: Call[], patienceMs = this.times.patienceMs): Promise<unknown[]> {
    const parts: Call[][] = [];
    const size = this.batchSize.limit;
    for (let i = 0; i < calls.length; i += size) parts.push(calls.slice(i, i + size));
    const results: unknown[][] = [];
    for (let i = 0; i < parts.length; i += PARALLEL_REQUESTS) {
      const some = parts.slice(i, i + PARALLEL_REQUESTS);
      results.push(...(await Promise.all(some.map((part) => this.sendPatiently(part, patienceMs)))));
    }
    return results.flat();
  }

  private async sendPatiently(calls: Call[], patienceMs: number): Promise<unknown[]> {
    const start = Date.now();
    for (let waitMs = this.times.backoffMs, tries = 1; ; waitMs *= 2, tries += 1) {
      try {
        const results = await this.send(calls);
        this.batchSize.succeeded(calls.length);
        return results;
      } catch (error) {
        if (error instanceof AnswerTooLarge)
          return calls.map(([name]) => new RpcError(name, 0, error.message));
        // Instead of refusing a batch, some providers cut the answer short or count each call against a rate limit.
        const kind = error instanceof Retryable && error.kind;
        const tooMany = (kind === 'incomplete' && tries > 1) || (kind === 'rate_limit' && tries > 3);
        if (calls.length > 1 && (tooMany || error instanceof BatchRefused)) {
          this.onRetry('batch_size');
          this.batchSize.refused(calls.length);
          return this.settled(calls, patienceMs);
        }
        if (!(error instanceof Retryable)) throw error;
        this.onRetry(error.kind);
        const jitteredMs = waitMs * (0.5 + Math.random());
        if (Date.now() + jitteredMs - start > patienceMs) throw new RpcUnavailable(error.message);
        await sleep(jitteredMs);
      }
    }
  }

  private async send(calls: Call[]): Promise<unknown[]> {
    const requests = calls.map(([method, params]) => ({ jsonrpc: '2.0', id: ++this.id, method, params }));
    const answers = await this.post(requests.length === 1 ? requests[0] : requests, calls.length);
    const list = (Array.isArray(answers) ? answers : [answers]) as (RpcResponse | null)[];
    const byId = new Map(list.map((answer) => [answer?.id, answer]));
    // Some nodes refuse a batch by one error without id, others by the same error for each call.
    const [first] = list;
    const whole = first?.error && list.length === 1 && !requests.some(({ id }) => id === first.id);
    const results = requests.map(({ id, method }) => {
      const answer = byId.get(id) ?? (whole ? first : undefined);
      if (!answer) throw new Retryable('incomplete', `${method}: no answer in the batch`);
      if (!answer.error) {
        if ('result' in answer) return answer.result;
        throw new Retryable('incomplete', `${method}: answer without result`);
      }
      const { code = 0 } = answer.error;
      const message = this.printable(String(answer.error.message ?? 'error without message'));
      if (code === 429 || RATE_LIMIT.test(message)) throw new Retryable('rate_limit', message);
      return new RpcError(method, code, message);
    });
    const refused = results.every((result) => result instanceof RpcError && BATCH_LIMIT.test(result.message));
    if (requests.length > 1 && (whole || refused)) throw new BatchRefused();
    return results;
  }

  private printable(message: string): string {
    const shown = this.secrets.reduce((text, secret) => text.replaceAll(secret, '…'), message);
    return shown.slice(0, MAX_MESSAGE_LENGTH);
  }

  private async post(body: unknown, calls: number): Promise<unknown> {
    let status: number;
    let text: string;
    try {
      const response = await fetch(this.endpoint.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...this.endpoint.headers },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(this.times.answerMs),
      });
      ({ status } = response);
      text = await readBounded(response, MAX_ANSWER_BYTES);
    } catch (error) {
      if (error instanceof AnswerTooLarge) throw error;
      throw new Retryable('network', (error as Error).message);
    }
    if (status === 429) throw new Retryable('rate_limit', 'HTTP 429');
    if (status === 413 && calls > 1) throw new BatchRefused();
    try {
      return JSON.parse(text);
    } catch {
      // A gateway with a limit of its own answers in HTML.
      if (calls > 1 && status >= 400 && status < 500) throw new BatchRefused();
      throw new Retryable('http', `HTTP ${status}, not JSON`);
    }
  }
}
