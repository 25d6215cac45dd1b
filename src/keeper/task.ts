import type { Address, Hex } from 'viem';
import type { PoolType } from '#values/types';
import type { KeeperNode } from './node';

/** A call that seems due. Whether it is, a simulation says. */
export interface Task {
  kind: JobKind;
  contract: Address;
  data: Hex;
  /** For the log. */
  subject: string;
  /** It is paid for only while less than this part of the budget is spent; all of it, if left out. */
  budgetPart?: bigint;
  /** The keeper is through with it, for now: it was sent, or would fail. */
  ended?: (isSent: boolean) => void;
}

export type JobKind = 'complete_draw' | 'cancel_draw' | 'end_round' | 'cancel_circle' | 'compound';
export type Contracts = ReadonlyMap<PoolType, readonly string[]>;

/** Finds what seems due of a kind: a few calls for each contract, however much there is on it. */
export type Job = (node: KeeperNode, contracts: Contracts, attempts: Attempts) => Promise<Task[]>;

/** The attempts of one round: a contract whose calls fail, or that answers nonsense, does not stop the others. */
export class Attempts {
  /** The first failure. */
  failure?: Error;

  async of<T>(act: () => Promise<T>): Promise<T | undefined> {
    try {
      return await act();
    } catch (error) {
      this.failure ??= error as Error;
      return undefined;
    }
  }
  /** What is due at each of these contracts. */
  async each(
    contracts: Iterable<string> | undefined,
    find: (contract: Address) => Promise<Task | Task[] | undefined>,
  ): Promise<Task[]> {
    const found: (Task | Task[] | undefined)[] = [];
    for (const contract of contracts ?? []) found.push(await this.of(() => find(contract as Address)));
    return found.flat().filter((task) => task !== undefined);
  }
}
