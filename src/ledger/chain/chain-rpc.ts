import { readBounded } from '#platform/http/read-bounded';
import type { RpcEndpoint } from './endpoints';

/** Time limit of calls that belong together, whatever the endpoints do. */
const TOTAL_MS = 3000;
/** Time limit of one endpoint if there is another one to ask. */
const ENDPOINT_MS = 1000;
/** When an endpoint answered in place of a preferred one, it is asked first for this long. */
const DETOUR_MS = 30_000;
/** A contract's code takes 50 KB of hex, so no valid answer is larger than this. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/** The node ran the call, and the contract reverted. */
export class CallReverted extends Error {}

/** No endpoint gave a usable answer. The message names hosts, never paths, queries or credentials. */
export class ChainUnavailable extends Error {}

/**
 * Calls a node by JSON-RPC over HTTP. Only here the API sends requests of its own. They go to the configured endpoints
 * only: redirects are refused, and no address in an answer is followed. The time and size of answers are limited, even
 * if a body comes byte by byte.
 */
export class ChainRpc {
  private detour = { endpoint: 0, until: 0 };

  constructor(private readonly endpoints: RpcEndpoint[]) {}

  /**
   * Asks the endpoints one after another until one answers.
   * @param deadline aborts the whole call
   * @throws CallReverted, ChainUnavailable
   */
  async request(method: string, params: unknown[], deadline = ChainRpc.deadline()): Promise<unknown> {
    const { length } = this.endpoints;
    const first = Date.now() < this.detour.until ? this.detour.endpoint : 0;
    const failures: string[] = [];
    for (let i = 0; i < length; i++) {
      const index = (first + i) % length;
      const endpoint = this.endpoints[index];
      const signal =
        i < length - 1 ? AbortSignal.any([deadline, AbortSignal.timeout(ENDPOINT_MS)]) : deadline;
      try {
        const result = await ask(endpoint, method, params, signal);
        if (i > 0) this.detour = { endpoint: index, until: Date.now() + DETOUR_MS };
        return result;
      } catch (error) {
        if (error instanceof CallReverted) throw error;
        failures.push(`${endpoint.name}: ${(error as Error).name}`);
      }
    }
    throw new ChainUnavailable(`no answer to ${method} (${failures.join(', ')})`);
  }

  /** A deadline for several calls that belong together. */
  static deadline(): AbortSignal {
    return AbortSignal.timeout(TOTAL_MS);
  }
}

async function ask(
  { url, headers }: RpcEndpoint,
  method: string,
  params: unknown[],
  signal: AbortSignal,
): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    redirect: 'error',
    // Applies to the body too: fetch aborts it when the signal fires.
    signal,
  });
  // Some nodes answer a revert with a status other than 200, so the body decides.
  const answer = JSON.parse(await readBounded(response, MAX_ANSWER_BYTES)) as {
    result?: unknown;
    error?: unknown;
  };
  if (isRevert(answer.error)) throw new CallReverted();
  // Some nodes send `"error": null` beside a result.
  if (answer.error || answer.result === undefined) throw new Error('refused');
  return answer.result;
}

/** Whether a block's time cannot be seconds: it would be in the year 5138. Some nodes send milliseconds. */
export const isBeyondSeconds = (timestamp: unknown): boolean => Number(timestamp) >= 1e11;

/**
 * Whether a node's error says that the contract reverted: code 3 in the execution API, -32015 ("VM execution error.") of
 * Nethermind and OpenEthereum, the words of older nodes in the message or, beside a code, in the data.
 */
export function isRevert(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { code, message, data } = error as Record<string, unknown>;
  return code === 3 || code === -32015 || [message, data].some((said) => REVERT.test(String(said)));
}
const REVERT = /revert|invalid opcode/i;
