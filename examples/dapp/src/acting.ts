import type {
  DrawEntry,
  NewPool,
  PaymentKind,
  PaymentRequest,
  PoolItem,
  Start,
} from '@pooled-savings/client';
import { useRef, useState } from 'preact/hooks';
import type { Followed } from './changes.js';
import type { CircleActions } from './circle-card.js';
import { setChainTime } from './clock.js';
import { type Problem, Refused, problemOf } from './errors.js';
import { withSymbol } from './format.js';
import { type Job, type Progress, runJob } from './job.js';
import type { Due, LotteryActions } from './lottery.js';
import type { Paying } from './paying.js';
import { titleOf } from './payment-texts.js';
import type { PoolActions } from './pools.js';
import type { Rounds } from './rounds.js';
import { type ReadyConfig, type Session, callsAt, client } from './session.js';
import type { Tokens } from './tokens.js';

export interface Acting {
  pools: PoolActions;
  circles: CircleActions;
  lottery: LotteryActions;
  /**
   * Resolves to what is wrong; nothing was created or sent then. Only of contracts with deposits it is paid.
   */
  create: (pool: NewPool, open: (pool: string) => void) => Promise<Problem | undefined>;
  /** Only on the local chain. */
  fund?: () => void;
  /** Work that is no payment, and has the dialog. */
  job: Job | undefined;
  closeJob: () => void;
}

const SETTLED_BY = {
  claim: 'claimPrize',
  refund: 'refund',
  complete: 'completeDraw',
  cancel: 'cancelDraw',
} as const satisfies Record<Due, PaymentKind>;

/** What the user can do. What the wallet pays is in `paying`. */
export function useActing(
  { payer, address }: Session,
  config: ReadyConfig,
  tokens: Tokens,
  { isSeen, lookIntoWallet, state }: Followed,
  paying: Paying,
  rounds: Rounds,
): Acting {
  const [job, setJob] = useState<Job>();
  const [hidden, hide] = useState<number>();
  const { local } = config;

  const run = async (
    title: string,
    steps: string[],
    work: (progress: Progress) => Promise<string>,
  ): Promise<void> => {
    await runJob(title, steps, setJob, work);
    lookIntoWallet();
  };
  /** @param then what follows it, once it is on the chain */
  const pay = async (request: PaymentRequest, then?: () => Promise<unknown>): Promise<void> => {
    const problem = await paying.start(async (options) => {
      await client.pay(request, options);
      await then?.();
    });
    if (problem) await run(titleOf(request.kind), [], () => Promise.reject(new Refused(problem)));
    lookIntoWallet();
  };
  /** What would make a payment fail, before anything is created or sent. */
  const problemWith = async (check: { amount: bigint; contract: string; type?: NewPool['type'] }) => {
    try {
      await client.checkPayment({ wallet: payer, ...check });
      return undefined;
    } catch (error) {
      return problemOf(error, tokens.ofContract(check.contract));
    }
  };
  // The same attempt to make the same pool has the same key, so that it is made once, whatever happens to the answer.
  const attempt = useRef({ body: '', idempotencyKey: '' });
  const create: Acting['create'] = async (pool, open) => {
    const amount = BigInt(pool.initialDeposit);
    const contract = pool.contract ?? config.contracts[pool.type] ?? '';
    const calls = callsAt(config, contract);
    const problem = calls.includes('deposit')
      ? await problemWith({ amount, contract, type: pool.type })
      : undefined;
    if (problem) return problem;
    const body = JSON.stringify(pool);
    if (attempt.current.body !== body) attempt.current = { body, idempotencyKey: crypto.randomUUID() };
    const { idempotencyKey } = attempt.current;
    try {
      const { id, depositId } = await client.pools.create(pool, { idempotencyKey });
      attempt.current.body = '';
      if (calls.includes('open')) return void open(id);
      // It is paid where this page cannot; its card says so.
      if (!calls.includes('deposit')) return undefined;
      void pay({ kind: 'deposit', pool: id, depositId, amount });
      return undefined;
    } catch (error) {
      return problemOf(error, tokens.ofContract(contract));
    }
  };

  const pools: PoolActions = {
    pay: ({ id: pool }, deposit) => void pay({ kind: 'deposit', pool, ...deposit }),
    deposit: async ({ id, contractAddress }, amount) => {
      const problem = await problemWith({ amount, contract: contractAddress });
      if (!problem) void pay({ kind: 'deposit', pool: id, amount });
      return problem;
    },
    withdraw: ({ id: pool }, amount) => void pay({ kind: 'withdraw', pool, amount }),
    claim: ({ id: pool }) => void pay({ kind: 'claimYield', pool }),
    compound: ({ id }, enabled) =>
      void pay({ kind: enabled ? 'startCompounding' : 'stopCompounding', pool: id }, async () => {
        // What the wallet has said holds for its yield alone; of the pool its owner says it too.
        const { owner } = await client.pools.get(id);
        if (owner.address === address.toLowerCase()) await client.pools.update(id, { autoCompound: enabled });
      }),
    cancel: ({ id }) =>
      void run('Cancel the pool', ['Remove the pool'], async () => {
        await client.api.DELETE('/pools/{id}', { params: { path: { id } } });
        await isSeen(({ pools: { data } }) => data.every((pool) => pool.id !== id));
        return 'The pool is gone.';
      }),
    accrue:
      local &&
      ((pool: PoolItem): void =>
        void run('Add yield', ['Pay yield into the pool', 'Seen by the service'], async ({ next }) => {
          await local.accrue(pool);
          next();
          await isSeen(({ pools: { data } }) =>
            data.some(({ id, totalYield }) => id === pool.id && totalYield !== pool.totalYield),
          );
          return 'The pool has earned 5 %.';
        })),
  };

  const circles: CircleActions = {
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

  const lottery: LotteryActions = {
    buy: (count) => void pay({ kind: 'buyTickets', count: `${count}` }),
    settle: ({ drawId, contract }, due) => void pay({ kind: SETTLED_BY[due], drawId, contract }),
    all: async () => {
      // A page may repeat what the one before had, if the list grew meanwhile.
      const all = new Map<string, DrawEntry>();
      for await (const entry of client.lottery.allMine()) all.set(`${entry.contract} ${entry.drawId}`, entry);
      return [...all.values()];
    },
    local: local && {
      openShort: () =>
        void run('One-minute draw', ['Open a draw with a prize', 'Seen by the service'], async ({ next }) => {
          const before = state.data!.draw;
          await local.openShortDraw(before);
          next();
          await isSeen(
            ({ draw }) => draw !== null && draw.drawId !== before?.drawId && draw.prizePool !== '0',
          );
          return 'Buy tickets within a minute, then end the draw.';
        }),
      end: (draw) =>
        void run(
          'End the draw',
          ['Close it and pick the winner', 'Seen by the service'],
          async ({ next }) => {
            await local.endDraw(draw);
            next();
            const isDraw = (each: { drawId: number; contract: string }): boolean =>
              each.drawId === draw.drawId && each.contract === draw.contract;
            let won: Start['winners']['data'][number] | undefined;
            await isSeen(({ winners }) => (won = winners.data.find(isDraw)) !== undefined);
            if (!won) return 'The winner shows here once the service has seen it.';
            const prize = withSymbol(won.prize, tokens.ofContract(won.contract));
            return won.winner === address ? `You have won ${prize}!` : `Another saver has won ${prize}.`;
          },
        ),
    },
  };

  const fund =
    local &&
    ((): void =>
      void run('Test tokens', ['Mint 1,000 tokens on the local chain'], async () => {
        await local.fund(address);
        return 'They are in your wallet.';
      }));

  return {
    ...{ pools, circles, lottery, create, fund },
    job: job?.id === hidden ? undefined : job,
    closeJob: () => hide(job?.id),
  };
}
