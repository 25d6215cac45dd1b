import type { Hash } from 'viem';
import { isSavingsError } from '../errors.js';
import { isTransient } from '../transport.js';
import type { Api } from '../types.js';
import { backoff, rest } from '../wait.js';

const FIRST_WAIT_MS = 1_000;
const MOST_WAIT_MS = 60_000;

/**
 * Reports to the service which transaction pays a deposit, in the background until it knows: then all devices show it, and
 * none offers to pay again. A payment never waits for that, and never fails because of it.
 */
export class HashReporter {
  /** By deposit: the newest that there is to tell. */
  private readonly newest = new Map<string, Promise<boolean>>();

  constructor(private readonly api: Api) {}

  /** @returns false if the service refuses it, or something newer is reported instead */
  sent(id: string, hash: Hash): Promise<boolean> {
    return this.tell(id, () =>
      this.api.POST('/transactions/{id}/sent', { params: { path: { id } }, body: { hash } }),
    );
  }

  /** That this transaction will not pay the deposit: the service looks at it now. */
  takeBack(id: string, hash: Hash): Promise<boolean> {
    return this.tell(id, () =>
      this.api.DELETE('/transactions/{id}/sent', { params: { path: { id }, query: { hash } } }),
    );
  }

  /** Resolves when nothing is left to tell of the deposit, or after the time. */
  async settled(id: string, ms: number): Promise<void> {
    const telling = this.newest.get(id);
    if (telling) await Promise.race([telling, rest(ms)]);
  }

  private tell(id: string, request: () => Promise<unknown>): Promise<boolean> {
    const before = this.newest.get(id);
    const isNewest = (): boolean => this.newest.get(id) === telling;
    const untilKnown = async (): Promise<boolean> => {
      // In their order: the last report holds.
      await before;
      for (let attempt = 1; isNewest(); attempt++) {
        try {
          await request();
          return true;
        } catch (error) {
          if (isSavingsError(error) && !isTransient(error)) return false;
        }
        await rest(backoff(attempt, FIRST_WAIT_MS, MOST_WAIT_MS));
      }
      return false;
    };
    const telling = untilKnown().finally(() => isNewest() && this.newest.delete(id));
    this.newest.set(id, telling);
    return telling;
  }
}
