import { widerNetworks } from '#platform/http/client-address';

/** How many requests a client, or the network whose record it shares, has sent in a window. */
export interface Count {
  hits: number;
  /** How many it may send. */
  limit: number;
  /** Until the window ends. */
  secondsLeft: number;
}

/**
 * Records of each limit and address family. The first clients get records of their own. When these are taken, clients
 * get records from a reserve, and then share that of their block. A record takes about 210 bytes: the heap grows
 * by 75 MB when all records of both limits are taken, and by 25 MB more when addresses of every IPv6 /16 come.
 */
const OWN = 50_000;
const RESERVE = 25_000;
const SHARED = 10_000;
/**
 * What the clients of each IPv6 /32 or IPv4 /16 may take from the reserve. So an attacker who owns such a block shares
 * its record, while clients elsewhere still get their own.
 */
const QUOTA = 256;
/**
 * A network that shares a record may send this many times a client's limit, because most clients in it have nothing
 * to do with each other. An attacker gains nothing: filling the memory already takes 50,000 clients, each with its
 * own limit.
 */
const SHARED_FACTOR = 10;
/** Ended windows that each request forgets. This is more than it can add, so they never pile up. */
const FORGOTTEN_AT_ONCE = 8;

type Kind = 'own' | 'reserve' | 'shared' | 'widest';

interface Window {
  network: string;
  kind: Kind;
  /** The IPv6 /32 or IPv4 /16 whose quota it uses. */
  block: string;
  hits: number;
  /** Unix time in ms. */
  ends: number;
  next?: Window;
}

/** Counts in this process: fixed windows, with bounded memory and a bounded cost per request. */
export class MemoryCounter {
  private readonly tables = new Map<string, { v4: WindowTable; v6: WindowTable }>();

  /** @param client the client's key, from `clientKey` */
  count(client: string, name: string, limit: number, windowMs: number): Count {
    let tables = this.tables.get(name);
    if (!tables) this.tables.set(name, (tables = { v4: new WindowTable(), v6: new WindowTable() }));
    const now = Date.now();
    const window = tables[client.includes(':') ? 'v6' : 'v4'].find(client, now, windowMs);
    window.hits += 1;
    return {
      hits: window.hits,
      limit: window.network === client ? limit : limit * SHARED_FACTOR,
      secondsLeft: Math.ceil((window.ends - now) / 1000),
    };
  }

  /** Number of windows in memory. */
  get size(): number {
    return [...this.tables.values()].reduce((sum, { v4, v6 }) => sum + v4.size + v6.size, 0);
  }
}

/** The windows of one limit and address family. */
class WindowTable {
  private readonly windows = new Map<string, Window>();
  private readonly held: Record<Kind, number> = { own: 0, reserve: 0, shared: 0, widest: 0 };
  /** Records of the reserve that each block holds. */
  private readonly taken = new Map<string, number>();
  /** A queue: all windows have the same length, so the one that began first ends first. */
  private oldest?: Window;
  private newest?: Window;

  get size(): number {
    return this.windows.size;
  }

  /** The window in which a client is counted: its own, or a shared one. */
  find(client: string, now: number, windowMs: number): Window {
    this.forgetEnded(now);
    const add = (network: string, kind: Kind, block = ''): Window =>
      this.add({ network, kind, block, hits: 0, ends: now + windowMs });
    const own = this.get(client, now);
    if (own) return own;
    if (this.held.own < OWN) return add(client, 'own');
    const [block, widest] = widerNetworks(client);
    if (this.held.reserve < RESERVE && (this.taken.get(block) ?? 0) < QUOTA)
      return add(client, 'reserve', block);
    const shared = this.get(block, now);
    if (shared) return shared;
    if (this.held.shared < SHARED) return add(block, 'shared');
    return this.get(widest, now) ?? add(widest, 'widest');
  }

  private get(network: string, now: number): Window | undefined {
    const window = this.windows.get(network);
    if (!window || window.ends > now) return window;
    this.forget(window);
    return undefined;
  }

  private add(window: Window): Window {
    this.windows.set(window.network, window);
    this.held[window.kind] += 1;
    if (window.kind === 'reserve') this.taken.set(window.block, (this.taken.get(window.block) ?? 0) + 1);
    if (this.newest) this.newest.next = window;
    else this.oldest = window;
    return (this.newest = window);
  }

  private forgetEnded(now: number): void {
    for (let i = 0; i < FORGOTTEN_AT_ONCE && this.oldest && this.oldest.ends <= now; i++) {
      const window = this.oldest;
      this.oldest = window.next;
      if (!this.oldest) this.newest = undefined;
      // A newer window of the same network may already have replaced it.
      if (this.windows.get(window.network) === window) this.forget(window);
    }
  }

  private forget({ network, kind, block }: Window): void {
    this.windows.delete(network);
    this.held[kind] -= 1;
    if (kind !== 'reserve') return;
    const left = (this.taken.get(block) ?? 0) - 1;
    if (left > 0) this.taken.set(block, left);
    else this.taken.delete(block);
  }
}
