/**
 * Requests of this process at a time, in lanes that do not take each other's: to webhooks that have answered and are
 * quick, challenges, and to those that failed or are slow.
 */
export const LANES = ['quick', 'challenge', 'slow'] as const;
export type Lane = (typeof LANES)[number];

interface Shares {
  all: number;
  /** Of these: to one webhook, for one user, to one host, and to one network, which many names may lead to. */
  webhook: number;
  user: number;
  host: number;
  network: number;
}

export const SHARES: Record<Lane, Shares> = {
  quick: { all: 40, webhook: 4, user: 8, host: 8, network: 16 },
  challenge: { all: 8, webhook: 1, user: 2, host: 2, network: 4 },
  slow: { all: 16, webhook: 1, user: 2, host: 2, network: 4 },
};

/** What shares are counted by. */
export interface Sharer {
  lane: Lane;
  owner: string;
  host: string;
  /** null: nothing was sent there yet. */
  network: string | null;
}

/**
 * Who may send now. In the second half of a lane, of a host's share and of a network's, only users get a slot who have
 * none: a few users can fill the first half, and others still find one.
 */
export class Slots {
  private readonly used = new Map<string, number>();

  /** Slots of a lane that nobody uses. */
  room(lane: Lane): number {
    return SHARES[lane].all - this.usedBy(lane);
  }

  /** Takes slots for a webhook. @returns how many requests it may send at once; 0 if it has to wait */
  take(sharer: Sharer): number {
    const { lane } = sharer;
    const { all, webhook, ...shares } = SHARES[lane];
    const [owner, host, network = 0] = keysOf(sharer).map((key) => this.usedBy(key));
    const half = Math.min(all / 2 - this.usedBy(lane), shares.host / 2 - host, shares.network / 2 - network);
    const most = half > 0 ? Math.min(webhook, half) : owner === 0 ? 1 : 0;
    const left = [this.room(lane), shares.user - owner, shares.host - host, shares.network - network];
    const taken = Math.max(0, Math.min(most, ...left));
    this.add(sharer, taken);
    return taken;
  }

  giveBack(sharer: Sharer, slots: number): void {
    this.add(sharer, -slots);
  }

  private usedBy(key: string): number {
    return this.used.get(key) ?? 0;
  }

  private add(sharer: Sharer, slots: number): void {
    for (const key of [sharer.lane, ...keysOf(sharer)]) {
      const used = this.usedBy(key) + slots;
      if (used > 0) this.used.set(key, used);
      else this.used.delete(key);
    }
  }
}

const keysOf = ({ lane, owner, host, network }: Sharer): string[] => [
  `${lane} user ${owner}`,
  `${lane} host ${host}`,
  ...(network === null ? [] : [`${lane} network ${network}`]),
];

const MINUTE_MS = 60_000;

/** Limits how often something happens in a minute, for each key. */
export class Pace {
  private readonly counts = new Map<string, number>();
  private since = -Infinity;

  constructor(private readonly most: number) {}

  /** Counts it for all keys, unless one of them has reached the limit. */
  allows(...keys: string[]): boolean {
    const now = performance.now();
    if (now - this.since >= MINUTE_MS) {
      this.counts.clear();
      this.since = now;
    }
    if (keys.some((key) => (this.counts.get(key) ?? 0) >= this.most)) return false;
    for (const key of keys) this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
    return true;
  }

  /** Counts it no more. */
  forget(...keys: string[]): void {
    for (const key of keys) this.counts.set(key, Math.max(0, (this.counts.get(key) ?? 0) - 1));
  }
}
