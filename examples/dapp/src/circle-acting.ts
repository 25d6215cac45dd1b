import type { Payment, PayOptions, PoolItem, PoolRounds } from '@pooled-savings/client';
import type { Circle } from './circle-texts.js';
import { setChainTime } from './clock.js';
import type { Problem } from './errors.js';
import type { Progress } from './job.js';
import type { LocalChain } from './local-chain.js';
import { TITLES } from './payment-texts.js';
import type { KnownRounds, Rounds } from './rounds.js';
import { client } from './session.js';

type Action = PoolRounds['can'][number];

/** What each call of a circle takes from what the caller can do. */
const ACTION_OF = {
  openCircle: 'open',
  join: 'join',
  contribute: 'contribute',
  claimPayout: 'payout',
  claimRefund: 'refund',
  endRound: 'endRound',
  cancelCircle: 'cancel',
} as const satisfies Partial<Record<Payment['kind'], Action>>;
type CircleKind = keyof typeof ACTION_OF;
type CirclePayment = Extract<Payment, { kind: CircleKind }>;

export const isOfCircle = (payment: Payment): payment is CirclePayment => payment.kind in ACTION_OF;

/** Whether the service has seen it: then the caller cannot do it any more. */
export function isSeenInCircle({ kind, pool }: CirclePayment, known: KnownRounds): boolean {
  const rounds = known.get(pool);
  return rounds === null || (rounds !== undefined && !rounds.can.includes(ACTION_OF[kind]));
}

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
  pay: (title: string, payment: (options: PayOptions) => Promise<unknown>) => Promise<void>,
  run: (title: string, steps: string[], work: (progress: Progress) => Promise<string>) => Promise<void>,
): CircleActions {
  return {
    watch: (pool) => rounds.watch(pool),
    pay: ({ id: pool }, kind) =>
      void pay(TITLES[kind], (options) => client.payments.start({ kind, pool }, options)),
    open: async (pool, { contribution, collateral, joinBy, ...terms }) => {
      const request = {
        kind: 'openCircle' as const,
        ...{ pool, ...terms },
        ...{ contribution: `${contribution}`, collateral: `${collateral}`, joinBy: joinBy.toISOString() },
      };
      await pay(TITLES.openCircle, (options) => client.payments.start(request, options));
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
