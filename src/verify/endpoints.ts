type Call = [method: string, params: unknown[]];
/** Asks one endpoint; results in the order of the calls, an Error for what it refuses. @throws if it does not answer */
export type Ask = (calls: Call[]) => Promise<unknown[]>;

/** Endpoints of one chain, of which one is asked at a time. */
export class Endpoints {
  private current = 0;

  constructor(private readonly all: Ask[]) {}

  /** Asks the current one, or the next that answers. @throws if none does */
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

  /** The current one is of no use now. */
  next(): void {
    this.current = (this.current + 1) % this.all.length;
  }
}
