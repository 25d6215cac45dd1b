/** One line between tabs. What a tab says, it does not hear itself. */
export interface TabLine<Message> {
  say(message: Message): void;
  close(): void;
}

/** The part of BroadcastChannel that is used. */
export interface TabChannel {
  postMessage(message: unknown): void;
  close(): void;
  onmessage: ((event: { data: unknown }) => void) | null;
}

/** The part of Web Locks that is used. */
export interface TabLocks {
  request(
    name: string,
    options: { steal?: boolean; ifAvailable?: boolean; signal?: AbortSignal },
    /** Called with null if the lock is not available, and only then if that was asked for. */
    work: (lock?: unknown) => Promise<void>,
  ): Promise<unknown>;
}

interface Listened {
  addEventListener(event: string, listener: () => void): void;
  removeEventListener(event: string, listener: () => void): void;
}

/** What a browser offers for work that tabs share. Named here, so that nothing needs the types of pages. */
export interface TabTools {
  /** Web Locks; absent where the page is not secure. */
  readonly locks?: TabLocks;
  /** BroadcastChannel, by name. */
  readonly channel?: (name: string) => TabChannel;
  /** The document, which tells whether anybody can see the page. */
  readonly page?: Listened & { readonly visibilityState: string };
  /** The window, which tells that the page goes away, and that it is back. */
  readonly window?: Listened;
}

/**
 * Messages of another form get another number: tabs of an older and a newer version each have their own stream then, and
 * neither reads what the other means.
 */
const VERSION = 2;

export const lineName = (...parts: string[]): string => ['pooled-savings', VERSION, ...parts].join('|');

interface PageGlobals {
  document?: TabTools['page'];
  window?: TabTools['window'];
  navigator?: { locks?: TabLocks };
  BroadcastChannel?: new (name: string) => TabChannel;
}

/** Nothing outside of pages: Node's BroadcastChannel would keep the process alive, and a server has no tabs. */
export function browserTabs(): TabTools {
  const { document, navigator, BroadcastChannel, window } = globalThis as unknown as PageGlobals;
  if (!document || !window) return {};
  return {
    locks: navigator?.locks,
    channel: BroadcastChannel && ((name) => new BroadcastChannel(name)),
    page: document,
    window,
  };
}

/** Opens a line, if there is a BroadcastChannel. Firefox refuses it to frames that may not use storage. */
export function openLine<Message>(
  { channel }: TabTools,
  name: string,
  hear: (message: Message) => void,
): TabLine<Message> | undefined {
  let opened: TabChannel | undefined;
  try {
    opened = channel?.(name);
  } catch (error) {
    if ((error as Error).name !== 'SecurityError') throw error;
  }
  if (!opened) return undefined;
  opened.onmessage = ({ data }) => hear(data as Message);
  return { say: (message) => opened.postMessage(message), close: () => opened.close() };
}

/** Does the work while it holds the lock, or without one where the browser refuses locks, as in sandboxed frames. */
export async function locked(
  locks: TabLocks,
  name: string,
  options: Parameters<TabLocks['request']>[1],
  work: Parameters<TabLocks['request']>[2],
): Promise<void> {
  let begun = false;
  try {
    await locks.request(name, options, (lock) => {
      begun = true;
      return work(lock);
    });
  } catch (error) {
    if (begun || (error as Error).name !== 'SecurityError') throw error;
    await work();
  }
}

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
    await locked(locks, name, { ifAvailable: true }, async (lock) => {
      if (lock !== null) done = await work();
    });
    return done;
  } finally {
    held.delete(name);
  }
}
