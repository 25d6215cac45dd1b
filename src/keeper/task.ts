import type { Address, Hex } from 'viem';
import type { PoolType } from '#values/types';

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
}
