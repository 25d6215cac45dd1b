import type { PaymentRequest, PoolItem } from '@pooled-savings/client';
import type { Circle } from './circle-texts.js';
import { setChainTime } from './clock.js';
import type { Problem } from './errors.js';
import type { Progress } from './job.js';
import type { LocalChain } from './local/chain.js';
import type { CircleKind } from './payment-texts.js';
import type { Rounds } from './rounds.js';

export interface CircleActions {
  /** Has the circle kept true while it is looked at. Returns a function that ends it. */
  watch: (pool: string) => () => void;
  pay: (pool: PoolItem, kind: Exclude<CircleKind, 'openCircle'>) => void;
  /** Resolves to what is wrong with the terms; nothing was sent then. */
  open: (pool: string, terms: NewCircle) => Promise<Problem | undefined>;
  /** Only on the local chain. */
  local?: {
    /** How many of its members are test savers who can do their part now. */
    savers: readonly string[];
    othersIn: (circle: Circle) => number;
    act: (circle: Circle) => void;
    pass: (pool: string, until: string) => void;
  };
}

/** What the members agree on. Amounts in smallest units, times in seconds. */
export interface NewCircle {
  contribution: bigint;
  collateral: bigint;
  period: number;
  joinBy: Date;
  members: readonly string[];
}

export function circleActions(
  rounds: Rounds,
  local: LocalChain | undefined,
  pay: (request: PaymentRequest) => Promise<void>,
  run: (title: string, steps: string[], work: (progress: Progress) => Promise<string>) => Promise<void>,
): CircleActions {
  return {
    watch: (pool) => rounds.watch(pool),
    pay: ({ id: pool }, kind) => void pay({ kind, pool }),
    open: async (pool, { joinBy, ...terms }) => {
      await pay({ kind: 'openCircle', pool, ...terms, joinBy: joinBy.toISOString() });
      return undefined;
    },
    local: local && {
      savers: local.saverAddresses,
      othersIn: (circle) => local.saversIn(circle).length,
      act: (circle) =>
        void run('Test savers', ['They do their part on the local chain'], async () => {
          await local.actIn(circle);
          return circle.state === 'JOINING' ? 'They have joined.' : 'They have paid.';
        }),
      pass: (pool, until) =>
        void run('Let the time pass', ['The local chain goes forward'], async () => {
          setChainTime(await local.passTo(until));
          await rounds.until(pool, ({ can }) => can.includes('endRound') || can.includes('cancel'));
          return 'The time is over.';
        }),
    },
  };
}
