/** A message to the other tabs of this page's origin. */
export interface TabMessage {
  readonly kind: string;
}

/** One line between tabs. What a tab says, it does not hear itself. */
export interface TabLine<Message extends TabMessage> {
  say(message: Message): void;
  close(): void;
}

/** What a browser offers for work that tabs share. */
export interface TabTools {
  /** Web Locks; absent where the page is not secure. */
  readonly locks?: Pick<LockManager, 'request'>;
  /** BroadcastChannel, by name. */
  readonly channel?: (name: string) => Pick<BroadcastChannel, 'postMessage' | 'close' | 'onmessage'>;
  /** The page that tells whether anybody can see it. */
  readonly page?: Pick<Document, 'visibilityState' | 'addEventListener' | 'removeEventListener'>;
  /** Where a page tells that it goes away, and that it is back. */
  readonly window?: Pick<Window, 'addEventListener' | 'removeEventListener'>;
}

/**
 * Messages of another form get another number: tabs of an older and a newer version each have their own stream then, and
 * neither reads what the other means.
 */
const VERSION = 1;

export const lineName = (...parts: string[]): string => ['pooled-savings', VERSION, ...parts].join('|');

/** Nothing outside of pages: Node's BroadcastChannel would keep the process alive, and a server has no tabs. */
export function browserTabs(): TabTools {
  const { document, navigator, BroadcastChannel, window } = globalThis as Partial<typeof globalThis>;
  if (!document || !window) return {};
  return {
    locks: navigator?.locks,
    channel: BroadcastChannel && ((name) => new BroadcastChannel(name)),
    page: document,
    window,
  };
}

/** Opens a line. Without a BroadcastChannel nobody hears and nobody says anything. */
export function openLine<Message extends TabMessage>(
  { channel }: TabTools,
  name: string,
  hear: (message: Message) => void,
): TabLine<Message> {
  const opened = channel?.(name);
  if (!opened) return { say: () => undefined, close: () => undefined };
  opened.onmessage = ({ data }: MessageEvent<Message>) => hear(data);
  let closed = false;
  return {
    // A closed channel throws.
    say: (message) => void (closed || opened.postMessage(message)),
    close: () => {
      closed = true;
      opened.close();
    },
  };
}
