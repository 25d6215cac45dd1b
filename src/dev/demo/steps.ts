import { setTimeout as sleep } from 'node:timers/promises';
import { formatEther } from 'viem';

export const tokens = (amount: string): string => `${formatEther(BigInt(amount))} tokens`;
export const say = (text: string): void => void process.stdout.write(`${text}\n`);
export const step = (text: string): void => say(`\n== ${text}`);

/** Asks until the answer is as expected; the indexer needs a moment for each block. */
export async function until<T>(
  what: string,
  ask: () => Promise<T>,
  wanted: (answer: T) => boolean,
): Promise<T> {
  for (const start = Date.now(); Date.now() - start < 30_000; await sleep(200)) {
    const answer = await ask();
    if (wanted(answer)) return answer;
  }
  throw new Error(`${what} did not happen within 30 seconds`);
}
