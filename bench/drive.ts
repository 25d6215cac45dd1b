import autocannon from 'autocannon';
import { performance } from 'node:perf_hooks';

/** The requests of a run. Connection `index` repeats its requests in order. */
export interface Load {
  connections: number;
  requests: (index: number) => autocannon.Request[];
}

export interface Run {
  /** Answers per second. */
  rate: number;
  /** Median, in ms. */
  latency: number;
  /** 99th percentile, in ms. */
  p99: number;
  answers: number;
}

type Length = { seconds: number } | { amount: number };

/** A run ends after this time even if a connection got no answer. */
const LONGEST_SECONDS = 60;

/**
 * Drives one peer for a given time, or longer, until every connection had an answer.
 * @throws Error when any request fails or is not answered with 2xx
 */
export function drive(url: string, load: Load, length: Length): Promise<Run> {
  const latencies: number[] = [];
  let index = 0;
  let last = 0;
  const atLeast = 'seconds' in length ? load.connections : 0;
  return new Promise((resolve, reject) => {
    const begun = performance.now();
    const until = begun + ('seconds' in length ? length.seconds * 1000 : Infinity);
    const instance = autocannon(
      {
        url,
        connections: load.connections,
        ...('amount' in length ? { amount: length.amount } : { duration: LONGEST_SECONDS }),
        timeout: 30,
        sampleInt: 50,
        setupClient: (client) => client.setRequests(load.requests(index++)),
      },
      (error, result) => {
        if (error) return reject(error);
        if (result.errors + result.non2xx > 0)
          return reject(
            new Error(`${url}: ${result.errors} errors, ${JSON.stringify(result.statusCodeStats)}`),
          );
        resolve({
          rate: latencies.length / ((last - begun) / 1000),
          latency: median(latencies),
          p99: percentile(latencies, 0.99),
          answers: latencies.length,
        });
      },
    );
    // autocannon's own figures are in whole seconds and milliseconds, too coarse for short runs.
    instance.on('response', (_client: unknown, _status: number, _bytes: number, ms: number) => {
      last = performance.now();
      latencies.push(ms);
      if (last >= until && latencies.length >= atLeast) instance.stop();
    });
  });
}

/** The smallest value that at least this share of all do not exceed. */
export const percentile = (values: number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.ceil(values.length * share) - 1];

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  if (sorted.length === 0) return NaN;
  return sorted.length % 2 ? sorted[Math.floor(middle)] : (sorted[middle - 1] + sorted[middle]) / 2;
}
