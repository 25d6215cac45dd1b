type Call = [method: string, params: unknown[]];
/** Asks one endpoint. Results are in the order of the calls, an Error for a refused one. @throws without an answer */
export type Ask = (calls: Call[]) => Promise<unknown[]>;

/** The endpoints of one chain, asked one at a time: another one only when the current one fails. */
export class EndpointRotation {
  private current = 0;

  constructor(private readonly all: Ask[]) {}

  /** Asks the current endpoint, or the next one that answers. @throws when none does */
  async ask(calls: Call[]): Promise<unknown[]> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.all[this.current](calls);
      } catch (error) {
        this.next();
        if (tries === this.all.length) throw error;
      }
    }
  }

  /** Leaves the current endpoint for the next one. */
  next(): void {
    this.current = (this.current + 1) % this.all.length;
  }
}

/** Whether the contract lacks the function that was asked for. */
export const lacksFunction = (answer: unknown): boolean =>
  answer === '0x' || (answer instanceof Error && 'isRevert' in answer && answer.isRevert === true);
