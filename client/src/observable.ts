/** Something whose present state can be read, and that tells when it changes. */
export interface Observable<State> {
  readonly state: State;
  /** @returns a function that ends it */
  readonly subscribe: (listener: (state: State) => void) => () => void;
}

/** A state that is replaced, never changed: who keeps one can compare it with the next by `===`. */
export class Subject<State extends object> implements Observable<State> {
  private readonly listeners = new Set<(state: State) => void>();

  constructor(private current: State) {}

  get state(): State {
    return this.current;
  }

  readonly subscribe = (listener: (state: State) => void): (() => void) => {
    // Of its own: the same function may subscribe twice.
    const own = (state: State): void => listener(state);
    this.listeners.add(own);
    return () => void this.listeners.delete(own);
  };

  /** Tells nobody if nothing is different. */
  change(fields: Partial<State>): void {
    const names = Object.keys(fields) as (keyof State)[];
    if (names.every((name) => this.current[name] === fields[name])) return;
    this.current = { ...this.current, ...fields };
    for (const listener of [...this.listeners]) listener(this.current);
  }
}
