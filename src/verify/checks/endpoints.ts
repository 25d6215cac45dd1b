type Call = [method: string, params: unknown[]];
/** Asks one endpoint. Results are in the order of the calls, an Error for a refused one. @throws without an answer */
export type Ask = (calls: Call[]) => Promise<unknown[]>;

/** Endpoints of one chain. One is asked at a time. */
export class Endpoints {
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
