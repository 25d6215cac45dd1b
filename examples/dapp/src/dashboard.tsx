import { type FollowState, isUnderWay } from '@pooled-savings/client';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useActing } from './acting.js';
import { useFollowed } from './changes.js';
import { BarChart, paidOf } from './chart.js';
import { JobDialog } from './job.js';
import { Button, ProblemText } from './parts.js';
import { textOf } from './errors.js';
import { amountOf, amountText, dateText, withSymbol } from './format.js';
import { Lottery } from './lottery.js';
import { NewPoolDialog } from './new-pool.js';
import { usePaying } from './paying.js';
import { isOfCircle } from './payment-texts.js';
import { PaymentDialog, UnderWay } from './payments.js';
import { Pools } from './pools.js';
import { useRounds } from './rounds.js';
import { type ReadyConfig, type Session, callsAt } from './session.js';
import { tokensOf } from './tokens.js';
import { WalletNotice } from './wallet-notice.js';

const KINDS = { DEPOSIT: 'Deposit', WITHDRAWAL: 'Withdrawal', YIELD_CLAIM: 'Yield claimed' } as const;
const STATUSES = {
  PENDING: ['Waiting', 'warn'],
  CONFIRMED: ['Confirmed', 'good'],
  EXPIRED: ['Expired', ''],
} as const;

export function Dashboard({
  session,
  config,
  onLeave,
}: {
  session: Session;
  config: ReadyConfig;
  onLeave: () => void;
}) {
  const { address } = session;
  const followed = useFollowed(session, config);
  const { holdings, state } = followed;
  const { data } = state;
  const tokens = tokensOf(config, holdings);
  const token = tokens.first;
  const { rounds, known } = useRounds(address, followed.follower, state);
  const paying = usePaying(session, tokens, (payment) => {
    // Some payments cause no events.
    if (isOfCircle(payment)) rounds.read(payment.pool);
    if (payment.kind.endsWith('Compounding') || !state.live) followed.follower?.refresh();
  });
  const { pools, circles, lottery, create, fund, job, closeJob } = useActing(
    session,
    config,
    tokens,
    followed,
    paying,
    rounds,
  );
  const [opening, open] = useState<string>();
  const [creating, setCreating] = useState(false);
  const title = useRef<HTMLHeadingElement>(null);
  // The button that had the focus is gone.
  useEffect(() => title.current?.focus({ preventScroll: true }), []);

  const context = { tokens, paying, explorer: config.chain?.explorerUrl ?? null };
  const heading = (
    <h1 ref={title} class="title" tabIndex={-1}>
      Your savings
    </h1>
  );
  const notice = <WalletNotice session={session} config={config} onLeave={onLeave} />;
  const { error } = state;
  const problem = error && { code: error.code, text: textOf(error.code, error.message) };
  if (!holdings || !data)
    return (
      <>
        {heading}
        {notice}
        {problem ? (
          <div class="card">
            <ProblemText problem={problem} />
          </div>
        ) : (
          <p class="muted loading" role="status">
            Reading what is yours…
          </p>
        )}
      </>
    );

  const positions = [...holdings.positions.values()];
  type Field = 'balance' | 'earned' | 'claimable';
  const sum = (field: Field, of = token): bigint =>
    positions
      .filter(({ poolId }) => tokens.ofPool(poolId)?.address === of.address)
      .reduce((total, each) => total + BigInt(each[field] ?? 0), 0n);
  const inOthers = (field: Field) =>
    tokens.others.map((each) => <small key={each.address}>{withSymbol(sum(field, each), each)}</small>);
  const { yields } = holdings.analytics.chartData;
  const { points: paid, unpaid } = paidOf(holdings, tokens);
  return (
    <>
      {heading}
      {notice}
      {problem && <ProblemText problem={problem} />}
      <section aria-label="Overview" class="tiles">
        <Tile name="Saved" value={amountText(sum('balance'), token)} unit={token.symbol}>
          {inOthers('balance')}
        </Tile>
        <Tile name="Earned" value={amountText(sum('earned'), token)} unit={token.symbol}>
          {inOthers('earned')}
        </Tile>
        <Tile name="To claim" value={amountText(sum('claimable'), token)} unit={token.symbol}>
          {inOthers('claimable')}
        </Tile>
        <Tile
          name="In your wallet"
          value={holdings.inWallet === null ? '–' : amountText(holdings.inWallet, token)}
          unit={token.symbol}
        >
          {fund && <Button kind="link local" text="Get 1,000 more" onClick={fund} />}
        </Tile>
      </section>
      <div class="columns">
        <div>
          <Pools
            pools={holdings.pools}
            positions={holdings.positions}
            callsOf={({ contractAddress }) => callsAt(config, contractAddress)}
            isAccount={({ contractAddress }) => config.contractsByAccount.includes(contractAddress)}
            rounds={known}
            tokens={tokens}
            paying={
              new Map(
                paying.payments.flatMap(({ payment }) =>
                  (payment.kind === 'deposit' && isUnderWay(payment)) ||
                  (isOfCircle(payment) &&
                    !payment.arrived &&
                    (isUnderWay(payment) || payment.state === 'done'))
                    ? [[payment.pool, () => paying.show(payment.id)]]
                    : [],
                ),
              )
            }
            address={address}
            actions={pools}
            circles={circles}
            opening={opening}
            open={open}
            onNew={() => setCreating(true)}
          />
          <section class="card" aria-labelledby="activity">
            <h2 id="activity">Activity</h2>
            {holdings.transactions.length === 0 && <p class="muted">Nothing yet.</p>}
            <ul class="rows">
              {holdings.transactions.map(({ id, poolId, type, amount, status, createdAt }) => (
                <li key={id}>
                  <span>
                    {KINDS[type]} <span class="muted">· {dateText(createdAt)}</span>
                  </span>
                  <span class="end">
                    <strong>{amountOf(amount, tokens.ofPool(poolId))}</strong>
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
            entryCount={data.entries.pagination.total}
            winners={holdings.winners}
            address={address}
            tokens={tokens}
            actions={lottery}
          />
        </div>
      </div>
      <UnderWay {...context} />
      {creating && (
        <NewPoolDialog
          tokens={tokens}
          config={config}
          onClose={() => setCreating(false)}
          testSavers={circles.local?.savers}
          onCreate={(pool) => create(pool, open)}
        />
      )}
      {paying.shown && <PaymentDialog key={paying.shown.payment.id} shown={paying.shown} {...context} />}
      {job && <JobDialog key={job.id} job={job} onClose={closeJob} />}
    </>
  );
}

function liveText({ live, unreachable, pausedUntil }: FollowState): string {
  if (pausedUntil) return 'Waiting';
  if (unreachable) return 'No answer';
  return live ? 'Live' : 'Looking from time to time';
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
