/** Something whose present state can be read, and that tells when it changes. */
export interface Observable<State> {
  readonly state: State;
  /** @returns a function that ends it */
  readonly subscribe: (listener: (state: State) => void) => () => void;
}

/** Functions to call back. One that throws is reported, and keeps nothing else from going on. */
export class Listeners<T> {
  private readonly listeners = new Set<(value: T) => void>();

  readonly add = (listener: (value: T) => void): (() => void) => {
    // Of its own: the same function may be added twice.
    const own = (value: T): void => listener(value);
    this.listeners.add(own);
    return () => void this.listeners.delete(own);
  };

  call(value: T): void {
    for (const listener of [...this.listeners]) if (this.listeners.has(listener)) guarded(listener)(value);
  }
}

/** The function, whose errors are reported instead of thrown: a caller's mistake must not stop what calls it back. */
export const guarded =
  <Args extends unknown[]>(callback: ((...args: Args) => void) | undefined) =>
  (...args: Args): void => {
    try {
      callback?.(...args);
    } catch (error) {
      // Node has no `reportError`, and would end the process for an error that nobody catches.
      // eslint-disable-next-line no-console
      ((globalThis as { reportError?: (error: unknown) => void }).reportError ?? console.error)(error);
    }
  };

/** A state that is replaced, never changed: who keeps one can compare it with the next by `===`. */
export class Subject<State extends object> implements Observable<State> {
  private readonly listeners = new Listeners<State>();
  readonly subscribe = this.listeners.add;

  constructor(private current: State) {}

  get state(): State {
    return this.current;
  }

  /** Tells nobody if nothing is different. */
  change(fields: Partial<State>): void {
    const names = Object.keys(fields) as (keyof State)[];
    if (names.every((name) => this.current[name] === fields[name])) return;
    this.current = { ...this.current, ...fields };
    this.listeners.call(this.current);
  }
}
