/** The part of the Web Locks API that is used. */
interface Locks {
  request<T>(name: string, options: { ifAvailable: true }, work: (lock: unknown) => Promise<T>): Promise<T>;
}

/**
 * Does the work while no other call, in this tab or another one, does work of this name.
 * @param held what this page does, by the names that locks have in browsers
 * @returns undefined without having done it if another one does
 */
export async function exclusively<T>(
  held: Set<string>,
  name: string,
  work: () => Promise<T>,
): Promise<T | undefined> {
  if (held.has(name)) return undefined;
  held.add(name);
  try {
    // Pages on plain http have no locks, and some versions of Node.js have none.
    const { locks } = (globalThis as { navigator?: { locks?: Locks } }).navigator ?? {};
    if (!locks) return await work();
    return await locks.request(name, { ifAvailable: true }, async (lock) => (lock ? work() : undefined));
  } finally {
    held.delete(name);
  }
}

const HELD = new WeakMap<object, Set<string>>();

/** Clients with the same store know of each other's payments. */
export function heldBy(store: object): Set<string> {
  const held = HELD.get(store) ?? new Set();
  HELD.set(store, held);
  return held;
}
