/** Of one round. A contract whose calls the node cannot run, or that answers nonsense, does not stop the others. */
export class Attempts {
  /** The first one. */
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
