/**
 * Requests of this process at a time, in lanes that do not take each other's: to webhooks that have answered and are
 * quick, challenges, and to those that failed or are slow.
 */
export const LANES = ['quick', 'challenge', 'slow'] as const;
export type Lane = (typeof LANES)[number];

interface Shares {
  all: number;
  /** Of these: to one webhook, for one user, and to one host. */
  webhook: number;
  user: number;
  host: number;
}

export const SHARES: Record<Lane, Shares> = {
  quick: { all: 40, webhook: 4, user: 8, host: 8 },
  // An unanswered challenge occupies the shares of its user and host for a minute.
  challenge: { all: 16, webhook: 1, user: 10, host: 10 },
  slow: { all: 16, webhook: 1, user: 2, host: 2 },
};
const UNANSWERED_MS = 60_000;

/** A webhook that is due. */
export interface Waiting {
  lane: Lane;
  owner: string;
  host: string;
  /** When it became due, in seconds since 1970. */
  since: number;
}

/** Turns that are remembered. */
const MOST_REMEMBERED = 20_000;

/**
 * Allocates slots for requests. Users take turns in a lane, and at each host, however many webhooks they have: a user
 * waits since the last turn there, or since the webhook became due if that is later, and the user who has waited longest
 * is next. What is free after everybody's turn goes to the same users again, up to their shares.
 */
export class Slots {
  /** By lane, and by user and host in it. */
  private readonly used = new Map<string, number>();
  /** When the last turn of a user in a lane or at a host began, oldest first. */
  private readonly turns = new Map<string, number>();

  /** Lanes, users and hosts without free slots. Their webhooks are to be left out of `due`. */
  full(): string[] {
    return [...this.used.keys()].filter((key) => this.room(key) <= 0);
  }

  /** Gives slots: how many requests each webhook whose turn it is may get at once. `began` and `giveBack` follow. */
  share<W extends Waiting>(due: W[]): Map<W, number> {
    const turns = new Map<W, number>();
    const next = this.inTurn(this.nextAtHosts(due), laneOf);
    for (let round = 0; round < SHARES.quick.webhook; round++) {
      const had = new Set<string>();
      for (const webhook of next) {
        const user = userOf(webhook);
        if (round >= SHARES[webhook.lane].webhook || had.has(user) || !this.take(webhook)) continue;
        had.add(user);
        turns.set(webhook, (turns.get(webhook) ?? 0) + 1);
      }
    }
    return turns;
  }

  /** Records that a turn began at this time, in seconds since 1970, so that other users are next. */
  began(webhook: Waiting, at: number): void {
    for (const where of [laneOf(webhook), hostOf(webhook)]) {
      const key = `${where} ${webhook.owner}`;
      this.turns.delete(key);
      this.turns.set(key, at);
      if (this.turns.size > MOST_REMEMBERED) this.turns.delete(this.turns.keys().next().value!);
    }
  }

  giveBack(webhook: Waiting, slots: number, isUnanswered = false): void {
    this.add(laneOf(webhook), -slots);
    const rest = (): void => [userOf(webhook), hostOf(webhook)].forEach((key) => this.add(key, -slots));
    if (isUnanswered) setTimeout(rest, UNANSWERED_MS).unref();
    else rest();
  }

  /** As many webhooks of each host as it has free slots. */
  private nextAtHosts<W extends Waiting>(due: W[]): W[] {
    const found = new Map<string, number>();
    return this.inTurn(due, hostOf).filter((webhook) => {
      const host = hostOf(webhook);
      const left = (found.get(host) ?? this.room(host)) - 1;
      found.set(host, left);
      return left >= 0;
    });
  }

  private inTurn<W extends Waiting>(due: W[], where: (webhook: W) => string): W[] {
    const waiting = due.map((webhook) => {
      const turn = this.turns.get(`${where(webhook)} ${webhook.owner}`) ?? -Infinity;
      return { webhook, since: Math.max(webhook.since, turn) };
    });
    return waiting.sort((a, b) => a.since - b.since || 0).map(({ webhook }) => webhook);
  }

  private take(webhook: Waiting): boolean {
    const keys = [laneOf(webhook), userOf(webhook), hostOf(webhook)];
    if (keys.some((key) => this.room(key) <= 0)) return false;
    for (const key of keys) this.add(key, 1);
    return true;
  }

  /** Free slots. */
  private room(key: string): number {
    const [lane, what = 'all'] = key.split(' ', 2) as [Lane, keyof Shares | undefined];
    return SHARES[lane][what] - (this.used.get(key) ?? 0);
  }

  private add(key: string, by: number): void {
    const count = (this.used.get(key) ?? 0) + by;
    if (count > 0) this.used.set(key, count);
    else this.used.delete(key);
  }
}

const laneOf = ({ lane }: Waiting): string => lane;
const userOf = ({ lane, owner }: Waiting): string => `${lane} user ${owner}`;
const hostOf = ({ lane, host }: Waiting): string => `${lane} host ${host}`;
