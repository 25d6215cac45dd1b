type Call = [method: string, params: unknown[]];
/** Asks the node; results in the order of the calls, an Error for what it refuses. @throws if it does not answer */
export type Ask = (calls: Call[]) => Promise<unknown[]>;

/** Asks the first endpoint that answers, and goes on with it. */
export function firstThatAnswers(endpoints: Ask[]): Ask {
  let current = 0;
  return async (calls) => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await endpoints[current](calls);
      } catch (error) {
        current = (current + 1) % endpoints.length;
        if (tries === endpoints.length) throw error;
      }
    }
  };
}
