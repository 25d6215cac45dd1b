/** Trouble counts as lasting after so many tries, however much time has passed: one slow answer is none. */
const MIN_TRIES = 4;

/** Tells trouble that lasts from trouble that passes, by contract. */
export class Patience {
  private readonly troubles = new Map<string, { since: number; tries: number }>();

  constructor(
    private readonly ms: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Counts a failed try. @returns whether there were enough, for long enough, without a success between them */
  isOver(contract: string): boolean {
    const { since, tries } = this.troubles.get(contract) ?? { since: this.now(), tries: 0 };
    this.troubles.set(contract, { since, tries: tries + 1 });
    return tries + 1 >= MIN_TRIES && this.now() - since >= this.ms;
  }

  forget(contract: string): void {
    this.troubles.delete(contract);
  }

  forgetAll(): void {
    this.troubles.clear();
  }
}
