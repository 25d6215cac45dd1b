import { setTimeout as sleep } from 'node:timers/promises';
import { AnswerTooLarge } from '#platform/http/read-bounded';
import type { RpcEndpoint } from '#ledger/chain/endpoints';
import { BatchRefused, NodeError, type RetryKind, Retryable, ask } from '#ledger/chain/json-rpc';
import { Budget, Resting, type Turn } from './budget';

/** Reading the chain failed. Trying again later may help. */
export class RetryableChainError extends Error {}

/** The node answered with an error. Asking again for the same is of no use. */
export class RpcError extends RetryableChainError {
  constructor(
    method: string,
    readonly code: number,
    message: string,
    /** The node ran the call, and the contract reverted. */
    readonly isRevert = false,
  ) {
    super(`${method}: ${message}`);
  }

  get isUnknownMethod(): boolean {
    return this.code === UNKNOWN_METHOD;
  }
}
/** JSON-RPC 2.0, section 5.1. */
const UNKNOWN_METHOD = -32601;

/** The node gave no usable answer for several seconds. */
export class RpcUnavailable extends RetryableChainError {
  /** @param isThrottled it answered at last that it was asked too often */
  constructor(
    message: string,
    readonly isThrottled = false,
  ) {
    super(message);
  }
}

/** The node wants to be left alone for longer than anybody waits for an answer. It is not asked until then. */
export class RpcResting extends RetryableChainError {
  constructor(readonly restMs: number) {
    super(`the node wants to be left alone for ${Math.ceil(restMs / 1000)} s`);
  }
}

/** The node was asked too often. Asking for less at once does not help. */
export const isThrottled = (error: unknown): boolean =>
  error instanceof RpcResting || (error instanceof RpcUnavailable && error.isThrottled);

export type Call = [method: string, params: unknown[]];

/** `answerMs` and `patienceMs` together are shorter than the time after which a leader's heartbeat is stale. */
const TIMES = {
  /** Timeout of one answer. */
  answerMs: 2500,
  /** After this time nothing is tried again. */
  patienceMs: 5000,
  /** Wait before the second try. It doubles before each further one. */
  backoffMs: 100,
};
/** Most calls in one HTTP request. None of our requests needs more. */
const MAX_CALLS = 100;
/** A larger batch is tried after so many full ones that succeeded. */
const SUCCESSES_TO_GROW = 50;
/** A full batch of events has about 8 MB. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
/** A batch that has to be split is sent in so many requests at a time. */
const PARALLEL_REQUESTS = 4;
/** geth's code for the calls of a batch that no longer fit into its limit for the whole answer. */
const TOO_LARGE = -32003;
/** A batch of fewer calls that times out is not divided, because their number is not what makes it slow. */
const FEWEST_DIVIDED = 8;
const LOGS = 'eth_getLogs';
/**
 * JSON-RPC 2.0 over HTTP. Transport failures (network, 429, 5xx, timeout, lost or mangled answers) are retried with
 * jittered exponential backoff, or when the endpoint says so. Error answers are not retried. The endpoint's budget holds
 * for all who share this object.
 */
export class Rpc {
  /** Whether it has refused `eth_getBlockReceipts`, which not every node has. */
  lacksBlockReceipts = false;
  /** How many calls it takes in one HTTP request: each provider has a cap of its own. */
  private batchSize = MAX_CALLS;
  /** Full batches that succeeded since the size changed. */
  private successes = 0;
  private readonly budget: Budget;

  constructor(
    private readonly endpoint: RpcEndpoint,
    private readonly onRetry: (kind: RetryKind) => void = () => undefined,
    private readonly times = TIMES,
  ) {
    this.budget = new Budget(endpoint.perSecond);
  }

  get historyMs(): number | undefined {
    return this.endpoint.historyMs;
  }

  /** Calls that it may be sent in a second. */
  get perSecond(): number {
    return this.budget.perSecond;
  }

  /** Calls that fit in one HTTP request. One node answers all of these, even behind a balancer. */
  get mostCalls(): number {
    return Math.min(this.batchSize, this.budget.perSecond);
  }

  /** For the reader. @throws RpcError of the first call that the node refuses, and what `settled` throws */
  async batch<T extends unknown[]>(calls: Call[], patienceMs?: number): Promise<T> {
    const results = await this.settled(calls, patienceMs, 'reading');
    for (const result of results) if (result instanceof RpcError) throw result;
    return results as T;
  }

  /**
   * Sends all calls in one HTTP request, or in several if the endpoint accepts fewer at once.
   * @param patienceMs after this time nothing is tried again
   * @param answerMs how long to wait for one answer
   * @returns results in the order of the calls; an RpcError for each call that the node refuses
   * @throws RpcUnavailable, RpcResting
   */
  async settled(
    calls: Call[],
    patienceMs = this.times.patienceMs,
    turn: Turn = 'other',
    answerMs = this.times.answerMs,
  ): Promise<unknown[]> {
    const times = { patienceMs, answerMs };
    const results: unknown[][] = [];
    let size = this.mostCalls;
    for (const rest = [...calls]; rest.length > 0;) {
      // Parts of this size may have been refused meanwhile.
      size = Math.min(size, this.mostCalls);
      const some = Array.from({ length: PARALLEL_REQUESTS }, () => rest.splice(0, size)).filter(
        (part) => part.length > 0,
      );
      results.push(...(await Promise.all(some.map((part) => this.sendPatiently(part, times, turn)))));
    }
    return results.flat();
  }

  private async sendPatiently(
    calls: Call[],
    { patienceMs, answerMs }: Pick<typeof TIMES, 'patienceMs' | 'answerMs'>,
    turn: Turn,
  ): Promise<unknown[]> {
    let start = Date.now();
    for (let waitMs = this.times.backoffMs, tries = 1; ; waitMs *= 2, tries += 1) {
      try {
        start += await this.waitForTurn(calls.length, turn, Math.max(0, start + patienceMs - Date.now()));
        const results = await this.send(calls, answerMs);
        this.succeeded(calls.length);
        return results;
      } catch (failure) {
        const error = failure instanceof AnswerTooLarge && isDivisible(calls) ? new BatchRefused() : failure;
        if (error instanceof AnswerTooLarge)
          return calls.map(([name]) => new RpcError(name, 0, error.message));
        if (error instanceof Resting) throw new RpcResting(this.budget.restMs);
        if (error instanceof Retryable && error.restMs !== undefined) this.budget.rest(error.restMs);
        if (this.isTooMuch(error, calls.length, tries)) {
          this.onRetry('batch_size');
          this.refused(error instanceof BatchRefused && error.isAny ? 1 : calls.length);
          return this.settled(calls, patienceMs, turn, answerMs);
        }
        if (!(error instanceof Retryable)) throw error;
        this.onRetry(error.kind);
        if (error.kind === 'timeout' && isDivisible(calls) && calls.length >= FEWEST_DIVIDED) {
          this.refused(calls.length);
          const leftMs = start + patienceMs - Date.now();
          if (leftMs > 0) return this.settled(calls, leftMs, turn, answerMs);
        }
        const jitteredMs = waitMs * (0.5 + Math.random());
        if (Date.now() + jitteredMs - start > patienceMs)
          throw new RpcUnavailable(`${this.endpoint.name}: ${error.message}`, error.kind === 'rate_limit');
        await sleep(jitteredMs);
      }
    }
  }

  private refused(calls: number): void {
    this.batchSize = Math.max(1, Math.floor(Math.min(calls, this.batchSize) / 2));
    this.successes = 0;
  }

  private succeeded(calls: number): void {
    if (calls < this.batchSize || ++this.successes < SUCCESSES_TO_GROW) return;
    this.batchSize = Math.min(MAX_CALLS, this.batchSize * 2);
    this.successes = 0;
  }

  /** @returns how long others were the reason to wait, which is no fault of the endpoint @throws Resting */
  private async waitForTurn(calls: number, turn: Turn, patienceMs: number): Promise<number> {
    const { restMs } = this.budget;
    const start = Date.now();
    await this.budget.take(calls, turn, patienceMs);
    return Math.max(0, Date.now() - start - restMs);
  }

  /**
   * Whether to go on with smaller batches. Instead of refusing one, some providers cut the answer short or count each
   * call against a rate limit.
   */
  private isTooMuch(error: unknown, calls: number, tries: number): boolean {
    if (calls === 1) return false;
    if (error instanceof BatchRefused) return true;
    if (!(error instanceof Retryable)) return false;
    const { kind, restMs = 0 } = error;
    if (kind === 'incomplete') return tries > 1;
    return kind === 'rate_limit' && (tries > 3 || restMs > this.times.patienceMs);
  }

  private async send(calls: Call[], answerMs: number): Promise<unknown[]> {
    const answers = await ask(this.endpoint, calls, MAX_ANSWER_BYTES, AbortSignal.timeout(answerMs));
    return answers.map((answer, i) => {
      if (!(answer instanceof NodeError)) return answer;
      const { code, message, isRevert } = answer;
      if (code === TOO_LARGE && isDivisible(calls)) throw new BatchRefused();
      return new RpcError(calls[i][0], code, message, isRevert);
    });
  }
}

/** Requests with logs are not divided: callers ask for fewer blocks instead, with headers in the same request. */
const isDivisible = (calls: Call[]): boolean =>
  calls.length > 1 && calls.every(([method]) => method !== LOGS);
