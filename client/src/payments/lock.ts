import type { TabLocks } from '../tabs.js';

/** By store, what this page does: clients with the same store know of each other's payments. */
const HELD = new WeakMap<object, Set<string>>();

/**
 * Does the work while no other call, in this tab or another one, does work of this name.
 * @param locks of the browser. Pages on plain http have none.
 * @returns undefined without having done it if another one does
 */
export async function exclusively<T>(
  locks: TabLocks | undefined,
  store: object,
  name: string,
  work: () => Promise<T>,
): Promise<T | undefined> {
  const held = HELD.get(store) ?? new Set();
  HELD.set(store, held);
  if (held.has(name)) return undefined;
  held.add(name);
  try {
    if (!locks) return await work();
    let done: T | undefined;
    await locks.request(name, { ifAvailable: true }, async (lock) => {
      if (lock !== null) done = await work();
    });
    return done;
  } finally {
    held.delete(name);
  }
}
