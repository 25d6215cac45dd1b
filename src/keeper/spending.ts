const DAY_MS = 86_400_000;

/** What was spent in the last 24 hours. It is counted anew by each process; the account's own balance bounds them all. */
export class Spending {
  private spent: { at: number; wei: bigint }[] = [];

  /** @param budget wei in 24 hours */
  constructor(private readonly budget: bigint) {}

  add(wei: bigint): void {
    this.spent.push({ at: Date.now(), wei });
  }

  /** Whether so much more stays within the budget, or within one of so many equal parts of it. */
  allows(wei: bigint, part = 1n): boolean {
    return (this.lastDay + wei) * part <= this.budget;
  }

  get lastDay(): bigint {
    this.spent = this.spent.filter(({ at }) => at > Date.now() - DAY_MS);
    return this.spent.reduce((sum, { wei }) => sum + wei, 0n);
  }
}
