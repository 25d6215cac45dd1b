import { type FollowState, type Follower, type PoolRounds, isSavingsError } from '@pooled-savings/client';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { secondsTo } from './clock.js';
import { client } from './session.js';

/** Not more often than this, however much happens to a circle, and not all pages at once. */
const BETWEEN_MS = 1_000;
const JITTER_MS = 300;
/** How soon to look again for what has no events: somebody who joins without collateral, time that is over. */
const LOOK_MS = 30_000;
const MOST_LOOKS = 8;

/** What is known of circles, by pool; null: the caller may not read it, or there is none. */
export type KnownRounds = ReadonlyMap<string, PoolRounds | null>;

/** Circles that are looked at. Each is read when it comes into sight, and when something has happened to it. */
export class Rounds {
  private readonly known = new Map<string, PoolRounds | null>();
  private readonly watched = new Map<string, number>();
  private readonly waiting = new Map<string, 'pause' | 'pause, again'>();

  constructor(private readonly show: (known: KnownRounds) => void) {}

  /** Reads it now, and again whenever it may have changed. Returns a function that ends it. */
  watch(pool: string): () => void {
    this.watched.set(pool, (this.watched.get(pool) ?? 0) + 1);
    this.read(pool);
    const timer = setInterval(() => void (this.isOpen(pool) && this.read(pool)), LOOK_MS + this.jitter);
    return () => {
      clearInterval(timer);
      const left = this.watched.get(pool)! - 1;
      if (left > 0) this.watched.set(pool, left);
      else this.watched.delete(pool);
    };
  }

  /** Something has happened to the circle; to any of them, unless told to which. */
  changed(pool?: string): void {
    for (const each of this.watched.keys()) if (pool === undefined || each === pool) this.read(each);
  }

  /** Reads it, at once if it was not read just before. */
  read(pool: string): void {
    if (this.waiting.has(pool)) return void this.waiting.set(pool, 'pause, again');
    this.waiting.set(pool, 'pause');
    void this.fetch(pool).finally(() =>
      setTimeout(() => {
        const wanted = this.waiting.get(pool) === 'pause, again';
        this.waiting.delete(pool);
        if (wanted) this.read(pool);
      }, BETWEEN_MS + this.jitter),
    );
  }

  /** Resolves once the circle is so, or after some looks: there are no events of the time that passes. */
  async until(pool: string, holds: (rounds: PoolRounds) => boolean): Promise<void> {
    for (let look = 0; look < MOST_LOOKS; look++) {
      this.read(pool);
      await new Promise((resolve) => setTimeout(resolve, BETWEEN_MS));
      const known = this.known.get(pool);
      if (known && holds(known)) return;
    }
  }

  private async fetch(pool: string): Promise<void> {
    try {
      this.known.set(pool, await client.pools.rounds(pool));
    } catch (error) {
      // What the service does not say now it says later. A refusal says that there is nothing to see.
      if (!isSavingsError(error) || !REFUSALS.has(error.code)) return;
      this.known.set(pool, null);
    }
    this.show(new Map(this.known));
  }

  private get jitter(): number {
    return Math.random() * JITTER_MS;
  }

  /** Whether it may change without an event. */
  private isOpen(pool: string): boolean {
    if (document.visibilityState === 'hidden') return false;
    const known = this.known.get(pool);
    if (known === undefined) return true;
    const circle = known?.circle;
    if (circle?.state === 'JOINING') return true;
    return circle?.state === 'RUNNING' && secondsTo(circle.roundEnd!) === 0;
  }
}

const REFUSALS = new Set<string>(['forbidden', 'not_found', 'no_circle']);

/** The circles that the caller looks at, kept true by events, or by reading along while there are none. */
export function useRounds(
  address: string,
  follower: Follower | undefined,
  { data, live }: FollowState,
): { rounds: Rounds; known: KnownRounds } {
  const [known, show] = useState<KnownRounds>(new Map());
  const rounds = useMemo(() => new Rounds(show), [address]);
  useEffect(
    () =>
      follower?.onEvent((event) => {
        if (event.topic === 'reload') rounds.changed();
        else if ('poolId' in event) rounds.changed(event.poolId);
      }),
    [follower, rounds],
  );
  useEffect(() => rounds.changed(), [rounds, live]);
  useEffect(() => void (live || rounds.changed()), [rounds, data]);
  return { rounds, known };
}
