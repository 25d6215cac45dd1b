import type { Start } from '@pooled-savings/client';
import { useFollow } from '@pooled-savings/client/react';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { BarChart } from './chart.js';
import { problemOf, textOf } from './errors.js';
import { amountText, dateText, withSymbol } from './format.js';
import { Lottery } from './lottery.js';
import { type Page, PageContext, tokensOf, usePage } from './page.js';
import { Button, type Chip, ChipText, type Job, JobDialog, ProblemText } from './parts.js';
import { titleOf } from './payment-kinds.js';
import { PaymentDialog, UnderWay, usePaying } from './payments.js';
import { NewPoolDialog, OpenCircleDialog } from './pool-forms.js';
import { Pools } from './pools.js';
import { type ReadyConfig, type Session, client, walletBalance } from './session.js';
import { WalletNotice } from './wallet-notice.js';

/** How long the page waits for the service to see what the chain already has. */
const SOON_MS = 8_000;
/** How soon to look again at a draw that waits for blocks, of which there are no events. */
const BLOCKS_MS = 30_000;
const JITTER_MS = 5_000;

/** Some blocks after a draw is closed anyone may pick its winner, or cancel it if nobody did in time. */
const waitsForBlocks = ({ draw, entries }: Start): boolean =>
  [draw, ...entries.data].some((each) => each?.status === 'DRAWING' && each.due !== 'cancel');

export function Dashboard(props: { session: Session; config: ReadyConfig; onLeave: () => void }) {
  const { session, config, onLeave } = props;
  const { payer } = session;
  const { follower, ...state } = useFollow(client);
  const { data, error, live } = state;
  const [inWallet, setInWallet] = useState<bigint | null>(null);
  const [job, setJob] = useState<Job & { id: number }>();
  const [creating, setCreating] = useState(false);
  const [opening, openCircle] = useState<string>();
  const title = useRef<HTMLHeadingElement>(null);
  // The button that had the focus is gone.
  useEffect(() => title.current?.focus({ preventScroll: true }), []);
  const tokens = tokensOf(config, data, inWallet);
  const paying = usePaying(session, config, tokens, ({ kind }) => {
    // This one causes no events.
    if (kind.endsWith('Compounding') || !live) follower?.refresh();
  });
  // The wallet has no events.
  const lookIntoWallet = (): void => void walletBalance(session, tokens.first).then(setInWallet);
  useEffect(lookIntoWallet, [data, payer]);
  const isDrawing = data !== null && waitsForBlocks(data);
  useEffect(() => {
    if (!follower || !isDrawing) return;
    const look = (): void => void (document.visibilityState === 'visible' && follower.refresh());
    // Not all pages at once: for all of them the draw was closed in the same moment.
    const timer = setInterval(look, BLOCKS_MS + Math.random() * JITTER_MS);
    return () => clearInterval(timer);
  }, [follower, isDrawing]);

  const work: Page['work'] = (title, work) =>
    setJob({ id: Date.now(), title, work: () => work().finally(lookIntoWallet) });
  const pay: Page['pay'] = (request, then) =>
    void paying
      .start(async (options) => {
        await client.pay(request, options);
        await then?.();
      })
      .catch((error: unknown) =>
        work(titleOf(request.kind), async () => {
          throw error;
        }),
      )
      .finally(lookIntoWallet);
  const check: Page['check'] = (payment) =>
    client.checkPayment({ wallet: payer, ...payment }).then(
      () => undefined,
      (error: unknown) => problemOf(error, tokens.ofContract(payment.contract)),
    );
  const untilSeen: Page['untilSeen'] = (holds) =>
    follower!.until(holds, { signal: AbortSignal.timeout(SOON_MS) }).then(
      () => undefined,
      () => undefined,
    );

  return (
    <>
      <h1 ref={title} class="title" tabIndex={-1}>
        Your savings
      </h1>
      <WalletNotice session={session} config={config} onLeave={onLeave} />
      {error && <ProblemText problem={{ code: error.code, text: textOf(error.code, error.message) }} />}
      {!data && !error && (
        <p class="muted loading" role="status">
          Reading what is yours…
        </p>
      )}
      {data && (
        <PageContext.Provider
          value={{
            ...{ session, config, data, state, follower, tokens, paying },
            ...{ pay, check, work, untilSeen, openCircle },
          }}
        >
          <Tiles />
          <div class="columns">
            <div>
              <Pools onNew={() => setCreating(true)} />
              <Activity />
            </div>
            <div>
              <History />
              <Lottery />
            </div>
          </div>
          <UnderWay />
          {creating && <NewPoolDialog onClose={() => setCreating(false)} />}
          {opening && <OpenCircleDialog pool={opening} onClose={() => openCircle(undefined)} />}
          {paying.shown && <PaymentDialog key={paying.shown.payment.id} shown={paying.shown} />}
          {job && <JobDialog key={job.id} job={job} onClose={() => setJob(undefined)} />}
        </PageContext.Provider>
      )}
    </>
  );
}

const SUMS = [
  ['Saved', 'balance'],
  ['Earned', 'earned'],
  ['To claim', 'claimable'],
] as const;

function Tiles() {
  const { session, config, data, tokens, work } = usePage();
  const { first, others, ofPool } = tokens;
  const { local } = config;
  const inWallet = tokens.inWallet(first);
  const sum = (field: (typeof SUMS)[number][1], of = first): bigint =>
    data.positions.data
      .filter(({ poolId }) => ofPool(poolId)?.address === of.address)
      .reduce((total, each) => total + BigInt(each[field] ?? 0), 0n);
  const fund = async (): Promise<string> => {
    await local!.fund(session.address);
    return 'They are in your wallet.';
  };
  return (
    <section aria-label="Overview" class="tiles">
      {SUMS.map(([name, field]) => (
        <Tile key={name} name={name} value={amountText(sum(field), first)}>
          {others.map((token) => (
            <small key={token.address}>{withSymbol(sum(field, token), token)}</small>
          ))}
        </Tile>
      ))}
      <Tile name="In your wallet" value={inWallet === null ? '–' : amountText(inWallet, first)}>
        {local && (
          <Button kind="link local" text="Get 1,000 more" onClick={() => work('Test tokens', fund)} />
        )}
      </Tile>
    </section>
  );
}

const Tile = (props: { name: string; value: string; children: ComponentChildren }) => (
  <div class="card tile">
    <span class="muted">{props.name}</span>
    <span class="figure">
      {props.value} <small>{usePage().tokens.first.symbol}</small>
    </span>
    {props.children}
  </div>
);

const KINDS = { DEPOSIT: 'Deposit', WITHDRAWAL: 'Withdrawal', YIELD_CLAIM: 'Yield claimed' } as const;
const STATUSES: Record<'PENDING' | 'CONFIRMED' | 'EXPIRED', Chip> = {
  PENDING: ['Waiting', 'warn'],
  CONFIRMED: ['Confirmed', 'good'],
  EXPIRED: ['Expired', ''],
};

function Activity() {
  const { data, tokens } = usePage();
  return (
    <section class="card" aria-labelledby="activity">
      <h2 id="activity">Activity</h2>
      {data.transactions.data.length === 0 && <p class="muted">Nothing yet.</p>}
      <ul class="rows">
        {data.transactions.data.map(({ id, poolId, type, amount, status, createdAt }) => {
          const token = tokens.ofPool(poolId);
          return (
            <li key={id}>
              <span>
                {KINDS[type]} <span class="muted">· {dateText(createdAt)}</span>
              </span>
              <span class="end">
                {/* Without its token an amount says nothing. */}
                <strong>{token ? withSymbol(amount, token) : '–'}</strong>
                <ChipText chip={STATUSES[status]} />
              </span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function History() {
  const { data, state, tokens } = usePage();
  const { chartData, pendingDeposits } = data.analytics;
  const { live, unreachable, pausedUntil } = state;
  const unpaid = pendingDeposits === '0' ? undefined : withSymbol(pendingDeposits, tokens.first);
  const text = live ? 'Live' : 'Looking from time to time';
  return (
    <section class="card" aria-labelledby="history">
      <div class="section-head">
        <h2 id="history">Two weeks</h2>
        <span class={`live ${live ? 'on' : ''}`} role="status">
          {pausedUntil ? 'Waiting' : unreachable ? 'No answer' : text}
        </span>
      </div>
      <BarChart
        title="Deposits"
        points={chartData.deposits}
        token={tokens.first}
        kind="deposits"
        note={unpaid && `${unpaid} of it not paid yet`}
      />
      <BarChart title="Yield claimed" points={chartData.yields} token={tokens.first} kind="yields" />
    </section>
  );
}
