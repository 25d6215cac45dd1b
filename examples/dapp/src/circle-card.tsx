import type { PoolItem, PoolRounds, Position } from '@pooled-savings/client';
import { Fragment } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { NewCircle } from './circle-terms.js';
import {
  type Circle,
  capital,
  happensText,
  memberText,
  namesOf,
  ownTexts,
  periodText,
  stateText,
} from './circle-texts.js';
import { secondsTo } from './clock.js';
import type { Problem } from './errors.js';
import { type Token, amountText, withSymbol } from './format.js';
import { Button, Confirm, Facts } from './parts.js';
import type { CircleKind } from './payment-texts.js';

/** More are shown when somebody asks for them. */
const SHOWN_MEMBERS = 6;
const TICK_MS = 1_000;

export interface CircleActions {
  /** Has the circle kept true while it is looked at. Returns a function that ends it. */
  watch: (pool: string) => () => void;
  pay: (pool: PoolItem, kind: Exclude<CircleKind, 'openCircle'>) => void;
  /** Resolves to what is wrong with the terms; nothing was sent then. */
  open: (pool: string, terms: NewCircle) => Promise<Problem | undefined>;
  /** Only on the local chain. */
  local?: {
    savers: readonly string[];
    /** How many of its members are test savers who can do their part now. */
    othersIn: (circle: Circle) => number;
    act: (circle: Circle) => void;
    pass: (pool: string, until: string) => void;
  };
}

/** A rotating pool: its circle, and what the caller may do about it now. */
export function CircleCard({
  pool,
  rounds,
  position,
  token,
  showPayment,
  address,
  actions,
  onOpen,
  onCancelPool,
}: {
  pool: PoolItem;
  /** Undefined until it was read. */
  rounds: PoolRounds | null | undefined;
  position: Position | undefined;
  token: Token;
  /** A payment of this browser for the circle is under way. */
  showPayment: (() => void) | undefined;
  address: string;
  actions: CircleActions;
  onOpen: () => void;
  onCancelPool: (() => void) | undefined;
}) {
  const card = useRef<HTMLLIElement>(null);
  useEffect(() => {
    let end: (() => void) | undefined;
    // Of many circles only those that are in sight are read.
    const observer = new IntersectionObserver((seen) => {
      const isSeen = seen.at(-1)!.isIntersecting;
      if (isSeen) end ??= actions.watch(pool.id);
      else end = void end?.();
    });
    observer.observe(card.current!);
    return () => {
      observer.disconnect();
      end?.();
    };
  }, [pool.id]);
  const circle = rounds?.circle ?? null;
  const [text, kind] = rounds ? stateText(circle) : ['…', ''];
  return (
    <li ref={card} class="card pool" data-pool={pool.id}>
      <div class="pool-head">
        <span class="sign rotating" aria-hidden="true">
          ⟳
        </span>
        <h3>
          Rotating <span class="muted">#{pool.id.slice(-4)}</span>
        </h3>
        <span class={`chip ${kind}`}>{text}</span>
      </div>
      {circle ? (
        <OpenCircle circle={circle} mine={rounds!.mine} position={position} token={token} address={address} />
      ) : (
        <p class="muted unopened">
          {rounds === undefined
            ? 'Reading the circle…'
            : rounds?.can.includes('open')
              ? 'Open the circle: say what everyone pays, and in whose order the pot goes round.'
              : 'Its owner has not opened the circle yet.'}
        </p>
      )}
      <div class="actions">
        {showPayment ? (
          <Button text="Show the payment" onClick={showPayment} />
        ) : (
          rounds && (
            <CircleButtons pool={pool} rounds={rounds} token={token} actions={actions} onOpen={onOpen} />
          )
        )}
        {!showPayment && rounds && !circle && onCancelPool && (
          <Button text="Cancel the pool" onClick={onCancelPool} />
        )}
        {circle && <LocalButtons pool={pool.id} circle={circle} actions={actions} />}
      </div>
    </li>
  );
}

function OpenCircle({
  circle,
  mine,
  position,
  token,
  address,
}: {
  circle: Circle;
  mine: PoolRounds['mine'];
  position: Position | undefined;
  token: Token;
  address: string;
}) {
  const { contribution, collateral, period, places, members, state } = circle;
  const [, tick] = useState(0);
  const ticks = state === 'JOINING' || state === 'RUNNING';
  useEffect(() => {
    if (!ticks) return;
    const timer = setInterval(() => tick((n) => n + 1), TICK_MS);
    return () => clearInterval(timer);
  }, [ticks]);
  const locked =
    BigInt(collateral) > 0n ? `each locks ${withSymbol(collateral, token)}` : 'nobody locks anything';
  return (
    <>
      <p class="figure">
        {amountText(contribution, token)} <small>{token.symbol} a round</small>
      </p>
      <p class="muted">
        {places} members · a round takes {periodText(period)} at most · {locked}
      </p>
      <p data-field="happens">{happensText(circle, address, token)}</p>
      {mine && ownTexts(circle, mine, token).map((each) => <p key={each}>{each}</p>)}
      {mine && (
        <dl>
          <Facts
            facts={[
              ['Your turn', `Round ${mine.place + 1}`, 'place'],
              ['Yours in it', amountText(position?.balance ?? '0', token), 'held'],
              ['You got out', amountText(mine.received, token), 'received'],
            ]}
          />
        </dl>
      )}
      <details open={members.length <= SHOWN_MEMBERS}>
        <summary>Members, in the order of their turns</summary>
        <ol class="rows members">
          {members.map(({ account, place }) => {
            const [text, kind] = memberText(circle, place);
            const isNow = circle.currentRound === place;
            return (
              <li key={account} class={isNow ? 'now' : ''}>
                <span title={account}>
                  {place + 1}. {capital(namesOf(address)(account))}
                  {isNow && <span class="muted"> · turn now</span>}
                </span>
                <span class={`chip ${kind}`}>{text}</span>
              </li>
            );
          })}
        </ol>
      </details>
    </>
  );
}

/** What the contract takes from the caller now, and nothing else. */
function CircleButtons({
  pool,
  rounds,
  token,
  actions,
  onOpen,
}: {
  pool: PoolItem;
  rounds: PoolRounds;
  token: Token;
  actions: CircleActions;
  onOpen: () => void;
}) {
  const [isSure, ask] = useState(true);
  const { circle, mine, can } = rounds;
  const amount = (text: string, units: string): string => `${text} ${withSymbol(units, token)}`;
  const { pay } = actions;
  const all: { [Name in PoolRounds['can'][number]]: () => preact.JSX.Element } = {
    open: () => <Button kind="main" text="Open the circle" onClick={onOpen} />,
    join: () => (
      <Button
        kind="main"
        text={circle!.collateral === '0' ? 'Join the circle' : amount('Join and lock', circle!.collateral)}
        onClick={() => pay(pool, 'join')}
      />
    ),
    contribute: () => (
      <Button
        kind="main"
        text={amount('Pay', circle!.contribution)}
        onClick={() => pay(pool, 'contribute')}
      />
    ),
    payout: () => (
      <Button kind="main" text={amount('Take', mine!.payout)} onClick={() => pay(pool, 'claimPayout')} />
    ),
    refund: () => (
      <Button kind="main" text={amount('Take back', mine!.refund)} onClick={() => pay(pool, 'claimRefund')} />
    ),
    endRound: () => <Button text="End the round" onClick={() => pay(pool, 'endRound')} />,
    cancel: () => <Button text="Cancel the circle" onClick={() => ask(false)} />,
  };
  return (
    <>
      {can.map((name) => (
        <Fragment key={name}>{all[name]()}</Fragment>
      ))}
      {!isSure && (
        <Confirm
          title="Cancel this circle?"
          says="It is then over for all its members. They can take back what they have locked."
          text="Cancel it"
          onClose={() => ask(true)}
          onSure={() => pay(pool, 'cancelCircle')}
        />
      )}
    </>
  );
}

/** On the local chain the test savers do their part at once, and time passes. */
function LocalButtons({
  pool,
  circle,
  actions: { local },
}: {
  pool: string;
  circle: Circle;
  actions: CircleActions;
}) {
  if (!local) return null;
  const { state, roundEnd, joinBy } = circle;
  const end = state === 'RUNNING' ? roundEnd : state === 'JOINING' ? joinBy : null;
  const others = local.othersIn(circle);
  return (
    <>
      {others > 0 && (
        <Button
          kind="local"
          text={state === 'JOINING' ? 'Have the test savers join' : 'Have the test savers pay'}
          onClick={() => local.act(circle)}
        />
      )}
      {end !== null && secondsTo(end) > 0 && (
        <Button kind="local" text="Let the time pass" onClick={() => local.pass(pool, end)} />
      )}
    </>
  );
}
