import type { FollowState, NewPool, PoolItem, Start } from '@pooled-savings/client';
import { useMemo, useState } from 'preact/hooks';
import { useFollowed } from './changes.js';
import { BarChart, paidOf } from './chart.js';
import { JobDialog, ProblemText } from './dialog.js';
import { textOf } from './errors.js';
import { amountText, dateText, withSymbol } from './format.js';
import { type Job, type Progress, paying, runJob } from './job.js';
import { LocalChain, isLocal } from './local-chain.js';
import { Lottery } from './lottery.js';
import { NewPoolDialog, Pools, TYPES } from './pools.js';
import { type Holdings, type ReadyConfig, type Session, client } from './session.js';

/** What a job says when the chain has it and the service does not yet. It is no error: it shows here by itself. */
const CATCHING_UP = 'Paid. The service is catching up, and will show it here.';

const KINDS = { DEPOSIT: 'Deposit', WITHDRAWAL: 'Withdrawal', YIELD_CLAIM: 'Yield claimed' } as const;
const STATUSES = {
  PENDING: ['Waiting', 'warn'],
  CONFIRMED: ['Confirmed', 'good'],
  EXPIRED: ['Expired', ''],
} as const;

export function Dashboard({ session, config }: { session: Session; config: ReadyConfig }) {
  const { token } = config;
  const { payer, address } = session;
  const { holdings, state, isSeen, lookIntoWallet } = useFollowed(session, config);
  const [job, setJob] = useState<Job>();
  const [creating, setCreating] = useState(false);
  const local = useMemo(() => (isLocal(config) ? new LocalChain(config) : undefined), [config]);

  const isConfirmed = (hash: string): Promise<boolean> => isSeen((data) => hasConfirmed(data, hash));

  const run = async (
    title: string,
    steps: string[],
    work: (progress: Progress) => Promise<string>,
  ): Promise<void> => {
    await runJob(title, steps, setJob, work);
    lookIntoWallet();
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
      const receipts = await client.pay(id, { transaction: depositId, ...paying(payer, progress) });
      const isThere = await isConfirmed(receipts.at(-1)!.transactionHash);
      return isThere ? `${withSymbol(amount, token)} are in your new pool.` : CATCHING_UP;
    });
  };

  const pools = {
    pay: ({ id }: PoolItem, deposit: { transaction?: string; amount: bigint }): void =>
      void run('Deposit', depositSteps(deposit.amount), async (progress) => {
        const receipts = await client.pay(id, { ...deposit, ...paying(payer, progress) });
        const isThere = await isConfirmed(receipts.at(-1)!.transactionHash);
        return isThere ? `${withSymbol(deposit.amount, token)} have arrived.` : CATCHING_UP;
      }),
    withdraw: ({ id }: PoolItem, amount: bigint): void =>
      void run(
        'Withdraw',
        [`Withdraw ${withSymbol(amount, token)}`, 'Confirmed by the service'],
        async (progress) => {
          const [receipt] = await client.withdraw(id, { amount, ...paying(payer, progress) });
          await isConfirmed(receipt.transactionHash);
          return `${withSymbol(amount, token)} are back in your wallet.`;
        },
      ),
    claim: ({ id }: PoolItem, amount: bigint): void =>
      void run(
        'Claim yield',
        [`Claim ${withSymbol(amount, token)}`, 'Confirmed by the service'],
        async (progress) => {
          const [receipt] = await client.claim(id, paying(payer, progress));
          await isConfirmed(receipt.transactionHash);
          return 'The yield is in your wallet.';
        },
      ),
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
        const isThere = await isSeen(({ entries }) => held(entries.data) >= before + count);
        return isThere ? 'Good luck!' : CATCHING_UP;
      });
    },
    local: local && {
      openShort: (): void =>
        void run('One-minute draw', ['Open a draw with a prize', 'Seen by the service'], async ({ next }) => {
          const before = holdings!.draw;
          await local.openShortDraw(before);
          next();
          await isSeen(
            ({ draw }) => draw !== null && draw.drawId !== before?.drawId && draw.prizePool !== '0',
          );
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
            let won: Start['winners']['data'][number] | undefined;
            await isSeen(({ winners }) => (won = winners.data.find(isDraw)) !== undefined);
            if (!won) return 'The winner shows here once the service has seen it.';
            return won.winner === address
              ? `You have won ${withSymbol(won.prize, token)}!`
              : `Another saver has won ${withSymbol(won.prize, token)}.`;
          },
        ),
    },
  };

  const fund = (): void =>
    void run('Test tokens', ['Mint 1,000 tokens on the local chain'], async () => {
      await local!.fund(address);
      return 'They are in your wallet.';
    });

  const { error } = state;
  const problem = error && { code: error.code, text: textOf(error.code, error.message) };
  if (!holdings)
    return problem ? (
      <div class="card">
        <ProblemText problem={problem} />
      </div>
    ) : (
      <p class="muted loading" role="status">
        Reading what is yours…
      </p>
    );

  const positions = [...holdings.positions.values()];
  const sum = (field: 'balance' | 'earned' | 'claimable'): bigint =>
    positions.reduce((total, each) => total + BigInt(each[field]), 0n);
  const { yields } = holdings.analytics.chartData;
  const { points: paid, unpaid } = paidOf(holdings);
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
              <span class={`live ${state.live ? 'on' : ''}`} role="status">
                {liveText(state)}
              </span>
            </div>
            <BarChart
              title="Deposits"
              points={paid}
              token={token}
              kind="deposits"
              note={unpaid > 0n ? `${withSymbol(unpaid, token)} of it not paid yet` : undefined}
            />
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

function liveText({ live, unreachable, pausedUntil }: FollowState): string {
  if (pausedUntil) return 'Waiting';
  if (unreachable) return 'No answer';
  return live ? 'Live' : 'Looking from time to time';
}

const hasConfirmed = ({ transactions, pools }: Start, hash: string): boolean =>
  [...transactions.data, ...pools.data.flatMap(({ recentTransactions }) => recentTransactions)].some(
    ({ txHash, status }) => txHash === hash && status === 'CONFIRMED',
  );

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
