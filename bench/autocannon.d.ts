/** The part of autocannon that the benchmark uses; the package brings no types. */
declare module 'autocannon' {
  import type { EventEmitter } from 'node:events';

  namespace autocannon {
    interface Request {
      method?: 'GET' | 'POST';
      path: string;
      headers?: Record<string, string>;
      body?: string;
      onResponse?: (status: number, body: string) => void;
    }

    interface Client {
      setRequests(requests: Request[]): void;
    }

    interface Options {
      url: string;
      connections: number;
      /** Seconds. */
      duration?: number;
      /** Total number of requests, instead of a duration. */
      amount?: number;
      /** Seconds until a request counts as an error. */
      timeout?: number;
      /** Milliseconds between checks whether the run is over. */
      sampleInt?: number;
      setupClient?: (client: Client) => void;
    }

    interface Instance extends EventEmitter {
      /** Takes effect at the next check. */
      stop(): void;
    }

    interface Result {
      non2xx: number;
      errors: number;
      mismatches: number;
      statusCodeStats: Record<string, { count: number }>;
    }
  }

  /** Emits `response` (client, status, bytes, milliseconds). */
  function autocannon(
    options: autocannon.Options,
    done: (error: Error | null, result: autocannon.Result) => void,
  ): autocannon.Instance;
  export = autocannon;
}
