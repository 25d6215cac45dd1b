import type { NewPool, PoolItem } from '@pooled-savings/client';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Changes } from './changes.js';
import { BarChart } from './chart.js';
import { JobDialog, ProblemText } from './dialog.js';
import { type Problem, endsSession, problemOf } from './errors.js';
import { amountText, dateText, withSymbol } from './format.js';
import { type Job, type Progress, paying, runJob } from './job.js';
import { LocalChain, isLocal } from './local-chain.js';
import { Lottery } from './lottery.js';
import { NewPoolDialog, Pools, TYPES } from './pools.js';
import { type Holdings, type ReadyConfig, type Session, client, readHoldings } from './session.js';

/** How soon to check again for what no event has reported. */
const LOOK_AGAIN_MS = 1_000;
const LOOKS = 60;

const KINDS = { DEPOSIT: 'Deposit', WITHDRAWAL: 'Withdrawal', YIELD_CLAIM: 'Yield claimed' } as const;
const STATUSES = {
  PENDING: ['Waiting', 'warn'],
  CONFIRMED: ['Confirmed', 'good'],
  EXPIRED: ['Expired', ''],
} as const;

export function Dashboard({
  session,
  config,
  onSessionEnd,
}: {
  session: Session;
  config: ReadyConfig;
  onSessionEnd: (problem: Problem) => void;
}) {
  const { token } = config;
  const { payer, address } = session;
  const [holdings, setHoldings] = useState<Holdings>();
  const [problem, setProblem] = useState<Problem>();
  const [live, setLive] = useState(false);
  const [job, setJob] = useState<Job>();
  const [creating, setCreating] = useState(false);
  const changes = useRef<Changes>();
  const local = useMemo(() => (isLocal(config) ? new LocalChain(config) : undefined), [config]);

  const reads = useRef({ begun: 0, shown: 0 });
  const refresh = async (): Promise<void> => {
    const read = ++reads.current.begun;
    /** Shows the outcome of this read, unless that of a later one is shown already. */
    const show = (found?: Holdings, met?: Problem): void => {
      if (read < reads.current.shown) return;
      reads.current.shown = read;
      if (found) setHoldings(found);
      setProblem(met);
    };
    try {
      show(await readHoldings(session, config));
    } catch (error) {
      const met = problemOf(error);
      if (endsSession(met)) onSessionEnd(met);
      else show(undefined, met);
    }
  };
  useEffect(() => {
    const current = (changes.current = new Changes(client, setLive));
    current.listen(() => void refresh());
    void refresh();
    return () => current.stop();
  }, [session]);

  /** Checks at each change, and from time to time, until the condition holds. */
  const until = async (isKnown: () => Promise<boolean>): Promise<void> => {
    for (let look = 0; look < LOOKS; look++) {
      if (await isKnown()) return;
      await changes.current?.next(LOOK_AGAIN_MS);
    }
    throw new Error('The service has not seen it yet. It will show here once it has.');
  };
  const untilConfirmed = (hash: string): Promise<void> =>
    until(async () => {
      const { data } = await client.transactions.list({ limit: 20 });
      return data.some(({ txHash, status }) => txHash === hash && status === 'CONFIRMED');
    });

  const run = async (
    title: string,
    steps: string[],
    work: (progress: Progress) => Promise<string>,
  ): Promise<void> => {
    const { problem: met } = await runJob(title, steps, setJob, work);
    if (met && endsSession(met)) onSessionEnd(met);
    else await refresh();
  };

  const depositSteps = (amount: bigint): string[] => [
    `Allow the contract to take ${withSymbol(amount, token)}`,
    `Deposit ${withSymbol(amount, token)}`,
    'Confirmed by the service',
  ];

  const create = (pool: NewPool): void => {
    setCreating(false);
    const amount = BigInt(pool.initialDeposit);
    const title = `New ${TYPES[pool.type].name.toLowerCase()} pool`;
    void run(title, ['Create the pool', ...depositSteps(amount)], async (progress) => {
      const { id, depositId } = await client.pools.create(pool);
      progress.next();
      await refresh();
      const receipts = await client.pay(id, { transaction: depositId, ...paying(payer, progress) });
      await untilConfirmed(receipts.at(-1)!.transactionHash);
      return `${withSymbol(amount, token)} are in your new pool.`;
    });
  };

  const pools = {
    pay: ({ id }: PoolItem, deposit: { transaction?: string; amount: bigint }): void =>
      void run('Deposit', depositSteps(deposit.amount), async (progress) => {
        const receipts = await client.pay(id, { ...deposit, ...paying(payer, progress) });
        await untilConfirmed(receipts.at(-1)!.transactionHash);
        return `${withSymbol(deposit.amount, token)} have arrived.`;
      }),
    withdraw: ({ id }: PoolItem, amount: bigint): void =>
      void run(
        'Withdraw',
        [`Withdraw ${withSymbol(amount, token)}`, 'Confirmed by the service'],
        async (progress) => {
          const [receipt] = await client.withdraw(id, { amount, ...paying(payer, progress) });
          await untilConfirmed(receipt.transactionHash);
          return `${withSymbol(amount, token)} are back in your wallet.`;
        },
      ),
    claim: ({ id }: PoolItem, amount: bigint): void =>
      void run(
        'Claim yield',
        [`Claim ${withSymbol(amount, token)}`, 'Confirmed by the service'],
        async (progress) => {
          const [receipt] = await client.claim(id, paying(payer, progress));
          await untilConfirmed(receipt.transactionHash);
          return 'The yield is in your wallet.';
        },
      ),
    accrue:
      local &&
      ((pool: PoolItem): void =>
        void run('Add yield', ['Pay yield into the pool', 'Seen by the service'], async ({ next }) => {
          await local.accrue(pool);
          next();
          await until(async () => {
            const { totalYield } = await client.pools.yieldReport(pool.id);
            return totalYield !== pool.totalYield;
          });
          return 'The pool has earned 5 %.';
        })),
  };

  const currentDraw = async () => (await readHoldings(session, config)).draw;
  const lottery = {
    buy: (
      { drawId, contract, ticketPrice }: { drawId: number; contract: string; ticketPrice: string },
      count: number,
    ): void => {
      const cost = withSymbol(BigInt(ticketPrice) * BigInt(count), token);
      const held = (entries: Holdings['entries']): number =>
        entries.find((each) => each.drawId === drawId && each.contract === contract)?.tickets ?? 0;
      const before = held(holdings!.entries);
      const steps = [`Allow the lottery to take ${cost}`, 'Buy the tickets', 'Confirmed by the service'];
      void run(count === 1 ? 'Buy a ticket' : `Buy ${count} tickets`, steps, async (progress) => {
        await client.buyTickets(count, paying(payer, progress));
        await until(async () => held((await client.lottery.mine({ limit: 5 })).data) >= before + count);
        return 'Good luck!';
      });
    },
    local: local && {
      openShort: (): void =>
        void run('One-minute draw', ['Open a draw with a prize', 'Seen by the service'], async ({ next }) => {
          const before = await currentDraw();
          await local.openShortDraw(before);
          next();
          await until(async () => {
            const now = await currentDraw();
            return now !== null && now.drawId !== before?.drawId && now.prizePool !== '0';
          });
          return 'Buy tickets within a minute, then end the draw.';
        }),
      end: (draw: NonNullable<Holdings['draw']>): void =>
        void run(
          'End the draw',
          ['Close it and pick the winner', 'Seen by the service'],
          async ({ next }) => {
            await local.endDraw(draw);
            next();
            const isDraw = (each: { drawId: number; contract: string }): boolean =>
              each.drawId === draw.drawId && each.contract === draw.contract;
            await until(async () => (await client.lottery.winners({ limit: 3 })).data.some(isDraw));
            const { data } = await client.lottery.winners({ limit: 3 });
            const { winner, prize } = data.find(isDraw)!;
            return winner === address
              ? `You have won ${withSymbol(prize, token)}!`
              : `Another saver has won ${withSymbol(prize, token)}.`;
          },
        ),
    },
  };

  const fund = (): void =>
    void run('Test tokens', ['Mint 1,000 tokens on the local chain'], async () => {
      await local!.fund(address);
      return 'They are in your wallet.';
    });

  if (!holdings)
    return problem ? (
      <div class="card">
        <ProblemText problem={problem} />
        <button type="button" onClick={() => void refresh()}>
          Try again
        </button>
      </div>
    ) : (
      <p class="muted loading" role="status">
        Reading what is yours…
      </p>
    );

  const positions = [...holdings.positions.values()];
  const sum = (field: 'balance' | 'earned' | 'claimable'): bigint =>
    positions.reduce((total, each) => total + BigInt(each[field]), 0n);
  const { deposits, yields } = holdings.analytics.chartData;
  return (
    <>
      {problem && <ProblemText problem={problem} />}
      <section aria-label="Overview" class="tiles">
        <Tile name="Saved" value={amountText(sum('balance'), token)} unit={token.symbol} />
        <Tile name="Earned" value={amountText(sum('earned'), token)} unit={token.symbol} />
        <Tile name="To claim" value={amountText(sum('claimable'), token)} unit={token.symbol} />
        <Tile
          name="In your wallet"
          value={holdings.inWallet === null ? '–' : amountText(holdings.inWallet, token)}
          unit={token.symbol}
        >
          {local && (
            <button type="button" class="link local" onClick={fund}>
              Get 1,000 more
            </button>
          )}
        </Tile>
      </section>
      <div class="columns">
        <div>
          <Pools
            pools={holdings.pools}
            positions={holdings.positions}
            token={token}
            inWallet={holdings.inWallet}
            actions={pools}
            onNew={() => setCreating(true)}
          />
          <section class="card" aria-labelledby="activity">
            <h2 id="activity">Activity</h2>
            {holdings.transactions.length === 0 && <p class="muted">Nothing yet.</p>}
            <ul class="rows">
              {holdings.transactions.map(({ id, type, amount, status, createdAt }) => (
                <li key={id}>
                  <span>
                    {KINDS[type]} <span class="muted">· {dateText(createdAt)}</span>
                  </span>
                  <span class="end">
                    <strong>{withSymbol(amount, token)}</strong>
                    <span class={`chip ${STATUSES[status][1]}`}>{STATUSES[status][0]}</span>
                  </span>
                </li>
              ))}
            </ul>
          </section>
        </div>
        <div>
          <section class="card" aria-labelledby="history">
            <div class="section-head">
              <h2 id="history">Two weeks</h2>
              <span class={`live ${live ? 'on' : ''}`} role="status">
                {live ? 'Live' : 'Looking every few seconds'}
              </span>
            </div>
            <BarChart title="Deposits" points={deposits} token={token} kind="deposits" />
            <BarChart title="Yield claimed" points={yields} token={token} kind="yields" />
          </section>
          <Lottery
            draw={holdings.draw}
            entries={holdings.entries}
            winners={holdings.winners}
            address={address}
            token={token}
            actions={lottery}
          />
        </div>
      </div>
      {creating && (
        <NewPoolDialog
          token={token}
          minimum={config.minimumDeposit}
          onClose={() => setCreating(false)}
          onCreate={create}
        />
      )}
      {job && <JobDialog job={job} onClose={() => setJob(undefined)} />}
    </>
  );
}

const Tile = ({
  name,
  value,
  unit,
  children,
}: {
  name: string;
  value: string;
  unit: string;
  children?: preact.ComponentChildren;
}) => (
  <div class="card tile">
    <span class="muted">{name}</span>
    <span class="figure">
      {value} <small>{unit}</small>
    </span>
    {children}
  </div>
);
