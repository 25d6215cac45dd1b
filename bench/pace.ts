import type { Request } from 'autocannon';
import { Agent, request } from 'node:http';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Pace {
  /** Requests a second, and how many there are at most. */
  rate: number;
  amount: number;
  /** Connections that take turns, whether or not they are free. Unset: as many as are needed, new ones last. */
  connections?: number;
  /** Ends it early. */
  signal?: AbortSignal;
}

/**
 * Sends requests at a fixed rate, whether or not earlier ones were answered, so that a slow server does not slow its
 * clients down. Ends with the last answer.
 * @param answered number of the request, status, and ms since it was sent
 * @throws Error when a connection fails
 */
export async function pace(
  url: string,
  { rate, amount, connections = 0, signal }: Pace,
  next: (n: number) => Request,
  answered: (n: number, status: number, ms: number) => void,
): Promise<void> {
  const agents = connections
    ? Array.from({ length: connections }, () => new Agent({ keepAlive: true, maxSockets: 1 }))
    : [new Agent({ keepAlive: true })];
  const open = new Set<Promise<void>>();
  let failure: Error | undefined;
  const begun = performance.now();
  for (let n = 0; n < amount && !failure && !signal?.aborted; n++) {
    while (performance.now() < begun + (n * 1000) / rate) await sleep(1);
    const sent = performance.now();
    const work: Promise<void> = ask(url, next(n), agents[n % agents.length])
      .then((status) => answered(n, status, performance.now() - sent))
      .catch((error: Error) => void (failure ??= error))
      .finally(() => open.delete(work));
    open.add(work);
  }
  await Promise.all(open);
  for (const agent of agents) agent.destroy();
  if (failure) throw failure;
}

/** @returns the status */
function ask(url: string, { method = 'GET', path, headers, body }: Request, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url + path, { method, headers, agent }, (response) => {
      response.once('end', () => resolve(response.statusCode!)).once('error', reject);
      response.resume();
    });
    sent.once('error', reject).end(body);
  });
}
