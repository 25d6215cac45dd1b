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
  /** null before anything was sent there. */
  network: string | null;
}

/** A webhook that is due. */
export interface Waiting extends Sharer {
  /** When it became due, in seconds since 1970. */
  since: number;
}

/** A webhook whose turn it is, and how many requests it may get at once. */
export interface Turn<W extends Waiting> {
  webhook: W;
  slots: number;
}

/** Challenges in a minute that one user can have sent, and that one host gets, without being answered. */
const CHALLENGES_A_MINUTE = 10;
/** Users whose last turn is remembered, of each lane, host and network. */
const MOST_REMEMBERED = 10_000;

/**
 * Allocates slots for requests. In the second half of a lane, and of the share of a host or network, only users without
 * a slot there get one: a few users can fill the first half, and others still get a slot.
 *
 * If slots are scarce, users take turns, however many webhooks they have. A user waits since the last turn there, or
 * since the webhook became due if that is later, and the user who has waited longest is next. When a webhook becomes
 * due, at most one turn of each waiting user comes before it, and no turn of users who come later.
 */
export class Slots {
  private readonly used = new Map<string, number>();
  private readonly challenges = new Pace(CHALLENGES_A_MINUTE);
  /** Lanes, hosts and networks with waiting users: when each user's last turn there began, oldest first. */
  private readonly crowded = new Map<string, Map<string, number>>();

  /** Free slots of a lane. */
  room(lane: Lane): number {
    return SHARES[lane].all - this.usedBy(lane);
  }

  /** Users, hosts and networks without free slots, each as lane, kind and name. */
  full(): string[] {
    const known = [...this.used.keys(), ...this.challenges.keys()];
    return [...new Set(known)].filter((key) => key.includes(' ') && this.isFull(key));
  }

  /**
   * Gives slots to the due webhooks of these lanes, first to the user who has waited longest, and a second turn to a
   * user only after all others had one. @param full users, hosts and networks whose webhooks were left out of `due`
   */
  share<W extends Waiting>(lanes: Lane[], full: string[], due: W[]): Turn<W>[] {
    const turns: Turn<W>[] = [];
    const refused = new Set(full);
    const had = new Set<string>();
    const give = (webhook: W): void => {
      const slots = this.take(webhook);
      if (slots > 0) {
        turns.push({ webhook, slots });
        had.add(userOf(webhook));
      } else for (const key of sharedBy(webhook)) if (this.isFull(key)) refused.add(key);
    };
    const again: W[] = [];
    const waits = new Map(due.map((webhook) => [webhook, this.waitsSince(webhook)]));
    for (const webhook of [...due].sort((a, b) => waits.get(a)! - waits.get(b)! || 0))
      if (had.has(userOf(webhook))) again.push(webhook);
      else give(webhook);
    again.forEach(give);
    for (const key of this.crowded.keys())
      if (lanes.includes(laneOf(key)) && !refused.has(key)) this.crowded.delete(key);
    for (const key of refused) if (!this.crowded.has(key)) this.crowded.set(key, new Map());
    return turns;
  }

  /** Records that a turn began at this time, so that other users are next. */
  began(sharer: Sharer, at: number): void {
    for (const key of sharedBy(sharer)) {
      const turns = this.crowded.get(key);
      if (!turns) continue;
      turns.delete(sharer.owner);
      turns.set(sharer.owner, at);
      if (turns.size > MOST_REMEMBERED) turns.delete(turns.keys().next().value!);
    }
  }

  giveBack(sharer: Sharer, slots: number): void {
    this.add(sharer, -slots);
  }

  /** Records that a challenge was answered, so that it does not count. */
  answered(sharer: Sharer): void {
    this.challenges.forget(...pacedOf(sharer));
  }

  /** Takes slots for a webhook. @returns how many requests it may send at once; 0 if it has to wait */
  private take(sharer: Sharer): number {
    const { lane } = sharer;
    const { webhook, user } = SHARES[lane];
    let taken = Math.min(webhook, user - this.usedBy(userOf(sharer)));
    for (const key of sharedBy(sharer)) {
      const [used, share] = [this.usedBy(key), shareOf(key)];
      const isFirst = this.usedBy(`${key} user ${sharer.owner}`) === 0;
      taken = Math.min(taken, share - used, used < share / 2 ? share / 2 - used : isFirst ? 1 : 0);
    }
    if (taken <= 0 || (lane === 'challenge' && !this.challenges.allows(...pacedOf(sharer)))) return 0;
    this.add(sharer, taken);
    return taken;
  }

  private waitsSince(webhook: Waiting): number {
    const turns = sharedBy(webhook).map((key) => this.crowded.get(key)?.get(webhook.owner) ?? -Infinity);
    return Math.max(webhook.since, ...turns);
  }

  private isFull(key: string): boolean {
    return this.usedBy(key) >= shareOf(key) || this.challenges.isSpent(key);
  }

  private usedBy(key: string): number {
    return this.used.get(key) ?? 0;
  }

  private add(sharer: Sharer, slots: number): void {
    for (const key of sharedBy(sharer).flatMap((shared) => [shared, `${shared} user ${sharer.owner}`])) {
      const used = this.usedBy(key) + slots;
      if (used > 0) this.used.set(key, used);
      else this.used.delete(key);
    }
  }
}

/** The keys of the lane, host and network that users share. */
const sharedBy = ({ lane, host, network }: Sharer): string[] => [
  lane,
  `${lane} host ${host}`,
  ...(network === null ? [] : [`${lane} network ${network}`]),
];
const userOf = ({ lane, owner }: Sharer): string => `${lane} user ${owner}`;
const pacedOf = (sharer: Sharer): string[] => [userOf(sharer), `${sharer.lane} host ${sharer.host}`];
const laneOf = (key: string): Lane => key.split(' ', 1)[0] as Lane;
/** The share of a lane, or of a user, host or network in it. */
function shareOf(key: string): number {
  const [lane, what = 'all'] = key.split(' ', 2) as [Lane, keyof Shares | undefined];
  return SHARES[lane][what];
}

const MINUTE_MS = 60_000;

/** Limits how often something happens in a minute, for each key. */
export class Pace {
  private readonly counts = new Map<string, number>();
  private since = -Infinity;

  constructor(private readonly most: number) {}

  /** Counts once for all keys, unless one of them has reached the limit. */
  allows(...keys: string[]): boolean {
    if (keys.some((key) => this.isSpent(key))) return false;
    for (const key of keys) this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
    return true;
  }

  /** Whether a key has reached the limit. */
  isSpent(key: string): boolean {
    const now = performance.now();
    if (now - this.since >= MINUTE_MS) {
      this.counts.clear();
      this.since = now;
    }
    return (this.counts.get(key) ?? 0) >= this.most;
  }

  /** All keys that were counted. */
  keys(): Iterable<string> {
    return this.counts.keys();
  }

  /** Reverts one count of each key. */
  forget(...keys: string[]): void {
    for (const key of keys) this.counts.set(key, Math.max(0, (this.counts.get(key) ?? 0) - 1));
  }
}
