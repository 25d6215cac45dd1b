import type { RpcEndpoint } from './endpoints';
import { NodeError, ask } from './json-rpc';

/** Time limit of calls that belong together, whatever the endpoints do. */
const TOTAL_MS = 3000;
/** Time limit of one endpoint if there is another one to ask. */
const ENDPOINT_MS = 1000;
/** When an endpoint answered in place of a preferred one, it is asked first for this long. */
const DETOUR_MS = 30_000;
/** A contract's code takes 50 KB of hex, so no valid answer is larger than this. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/** The node ran the call, and the contract reverted. */
export class CallReverted extends Error {
  /** @param data the contract's error, as hex digits, if the node gives it */
  constructor(readonly data?: string) {
    super();
  }
}

/** No endpoint gave a usable answer. The message names hosts, and repeats words of the node without the address's secrets. */
export class ChainUnavailable extends Error {}

/**
 * Calls a node by JSON-RPC over HTTP. The API sends its own requests only through this class. They go to the configured
 * endpoints only: redirects are refused, and no address in an answer is followed. The time and size of answers are
 * limited, even if a body comes byte by byte.
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
      const [answer] = await ask(endpoint, [[method, params]], MAX_ANSWER_BYTES, signal).catch(
        (error: Error) => [error],
      );
      if (answer instanceof Error || (answer instanceof NodeError && !answer.isRevert)) {
        failures.push(`${endpoint.name}: ${answer.message}`);
        continue;
      }
      if (i > 0) this.detour = { endpoint: index, until: Date.now() + DETOUR_MS };
      if (answer instanceof NodeError) throw new CallReverted(answer.data);
      return answer;
    }
    throw new ChainUnavailable(`no answer to ${method} (${failures.join(', ')})`);
  }

  /** A deadline for several calls that belong together. */
  static deadline(): AbortSignal {
    return AbortSignal.timeout(TOTAL_MS);
  }
}

/** Whether a block's time cannot be seconds: it would be in the year 5138. Some nodes send milliseconds. */
export const isBeyondSeconds = (timestamp: unknown): boolean => Number(timestamp) >= 1e11;
