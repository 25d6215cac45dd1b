import type { PoolItem, PoolRounds } from '@pooled-savings/client';
import { isSavingsError } from '@pooled-savings/client';
import type { RefObject } from 'preact';
import { useEffect, useReducer, useRef, useState } from 'preact/hooks';
import { type Circle, happensText, memberOf, ownTexts, periodText, stateOf } from './circle-texts.js';
import { secondsTo, useTicks } from './clock.js';
import { amountText, shortAddress, withSymbol } from './format.js';
import { usePage } from './page.js';
import { Button, ChipText, Facts, SureButton } from './parts.js';
import { CancelButton, PoolHead } from './pools.js';
import { client } from './session.js';

/** More are shown when somebody asks for them. */
const SHOWN_MEMBERS = 6;
/** What happens within a moment is read together, and not by all pages at once. */
const TOGETHER_MS = 300;
const JITTER_MS = 700;
/** How soon to look again for what has no events: somebody who joins without collateral, time that is over. */
const LOOK_MS = 30_000;
const LOCAL_LOOK_MS = 2_000;
const REFUSALS = new Set<string>(['forbidden', 'not_found', 'no_circle']);

/**
 * The circle of a pool, kept true by events while its card is in sight. Null: the user may not read it, or there is
 * none. Undefined until it was read.
 */
function useRounds(pool: string, card: RefObject<HTMLElement>): PoolRounds | null | undefined {
  const { config, follower, state, paying } = usePage();
  const [rounds, setRounds] = useState<PoolRounds | null>();
  const [isInSight, setInSight] = useState(false);
  const [changes, change] = useReducer<number, void>((count) => count + 1, 0);
  useEffect(() => {
    const observer = new IntersectionObserver((seen) => setInSight(seen.at(-1)!.isIntersecting));
    observer.observe(card.current!);
    return () => observer.disconnect();
  }, []);
  useEffect(
    () =>
      follower?.onEvent((event) => {
        if (event.topic === 'reload' || ('poolId' in event && event.poolId === pool)) change();
      }),
    [follower],
  );
  // Without a stream it is read as often as everything else. Some payments cause no events.
  const isMine = ({ payment }: (typeof paying.payments)[number]): boolean =>
    'pool' in payment && payment.pool === pool && payment.arrived === true;
  useEffect(change, [state.live || state.data, paying.payments.filter(isMine).length]);
  useEffect(() => {
    if (!isInSight) return;
    let isLatest = true;
    const read = (): void =>
      void client.pools.rounds(pool).then(
        (read) => isLatest && setRounds(read),
        // Other errors pass, and the next change reads it.
        (error: unknown) => isLatest && isSavingsError(error) && REFUSALS.has(error.code) && setRounds(null),
      );
    const timer = setTimeout(read, rounds === undefined ? 0 : TOGETHER_MS + Math.random() * JITTER_MS);
    return () => {
      isLatest = false;
      clearTimeout(timer);
    };
  }, [isInSight, changes]);
  useEffect(() => {
    if (!isInSight) return;
    const mayChange = (): boolean =>
      rounds === undefined ||
      rounds?.circle?.state === 'JOINING' ||
      (rounds?.circle?.state === 'RUNNING' && secondsTo(rounds.circle.roundEnd!) === 0);
    const look = (): void => void (document.visibilityState === 'visible' && mayChange() && change());
    const timer = setInterval(look, config.local ? LOCAL_LOOK_MS : LOOK_MS + Math.random() * JITTER_MS);
    return () => clearInterval(timer);
  }, [isInSight, rounds]);
  return rounds;
}

/** A rotating pool: its circle, and what the user can do about it now. */
export function CircleCard({ pool }: { pool: PoolItem }) {
  const { paying, openCircle } = usePage();
  const card = useRef<HTMLLIElement>(null);
  const rounds = useRounds(pool.id, card);
  const circle = rounds?.circle ?? null;
  const payment = paying.of(pool.id);
  return (
    <li ref={card} class="card pool" data-pool={pool.id}>
      <PoolHead pool={pool} chip={rounds ? stateOf(circle) : ['…', '']} />
      {circle ? (
        <OpenCircle pool={pool} circle={circle} mine={rounds!.mine} />
      ) : (
        <p class="muted">
          {rounds === undefined
            ? 'Reading the circle…'
            : rounds?.can.includes('open')
              ? 'Open the circle: say what everyone pays, and in whose order the pot goes round.'
              : 'Its owner has not opened the circle yet.'}
        </p>
      )}
      <div class="actions">
        {payment && <Button text="Show the payment" onClick={() => paying.show(payment.id)} />}
        {!payment && rounds?.can.includes('open') && (
          <Button kind="main" text="Open the circle" onClick={() => openCircle(pool.id)} />
        )}
        {!payment && circle && <CircleButtons pool={pool} circle={circle} rounds={rounds!} />}
        {!payment && rounds && !circle && <CancelButton pool={pool} />}
        {circle && <LocalButtons circle={circle} />}
      </div>
    </li>
  );
}

function OpenCircle(props: { pool: PoolItem; circle: Circle; mine: PoolRounds['mine'] }) {
  const { pool, circle, mine } = props;
  const { session, data, tokens } = usePage();
  const { address } = session;
  const { contribution, collateral, period, places, members, state } = circle;
  useTicks(state === 'JOINING' || state === 'RUNNING');
  const token = tokens.ofContract(pool.contractAddress);
  const held = data.positions.data.find(({ poolId }) => poolId === pool.id)?.balance ?? '0';
  return (
    <>
      <p class="figure">
        {amountText(contribution, token)} <small>{token.symbol} a round</small>
      </p>
      <p class="muted">
        {places} members · a round takes {periodText(period)} at most ·{' '}
        {collateral === '0' ? 'nobody locks anything' : `each locks ${withSymbol(collateral, token)}`}
      </p>
      <p data-field="happens">{happensText(circle, address, token)}</p>
      {mine && ownTexts(circle, mine, token).map((each) => <p key={each}>{each}</p>)}
      {mine && (
        <dl>
          <Facts
            facts={[
              ['Your turn', `Round ${mine.place + 1}`, 'place'],
              ['Yours in it', amountText(held, token), 'held'],
              ['You got out', amountText(mine.received, token), 'received'],
            ]}
          />
        </dl>
      )}
      <details open={members.length <= SHOWN_MEMBERS}>
        <summary>Members, in the order of their turns</summary>
        <ol class="rows">
          {members.map((member) => (
            <li key={member.account}>
              <span title={member.account}>
                {member.place + 1}. {member.account === address ? 'You' : shortAddress(member.account)}
                {member.place === circle.currentRound && <span class="muted"> · turn now</span>}
              </span>
              <ChipText chip={memberOf(circle, member)} />
            </li>
          ))}
        </ol>
      </details>
    </>
  );
}

/** What the contract takes from the user now, and nothing else. */
function CircleButtons(props: { pool: PoolItem; circle: Circle; rounds: PoolRounds }) {
  const { pool, circle, rounds } = props;
  const { tokens, pay } = usePage();
  const token = tokens.ofContract(pool.contractAddress);
  const { contribution, collateral } = circle;
  const { payout = '0', refund = '0' } = rounds.mine ?? {};
  const join = collateral === '0' ? 'Join the circle' : `Join and lock ${withSymbol(collateral, token)}`;
  const all = {
    join: [join, 'join'],
    contribute: [`Pay ${withSymbol(contribution, token)}`, 'contribute'],
    payout: [`Take ${withSymbol(payout, token)}`, 'claimPayout'],
    refund: [`Take back ${withSymbol(refund, token)}`, 'claimRefund'],
    endRound: ['End the round', 'endRound'],
  } as const;
  return rounds.can.map((name) => {
    if (name === 'open') return null;
    if (name === 'cancel')
      return (
        <SureButton
          key={name}
          text="Cancel the circle"
          title="Cancel this circle?"
          says="It is then over for all its members. They can take back what they have locked."
          onSure={() => pay({ kind: 'cancelCircle', pool: pool.id })}
        />
      );
    const [text, kind] = all[name];
    const isMain = name !== 'endRound';
    return (
      <Button
        key={name}
        kind={isMain ? 'main' : ''}
        text={text}
        onClick={() => pay({ kind, pool: pool.id })}
      />
    );
  });
}

/** On the local chain the test savers do their part at once, and time passes. */
function LocalButtons({ circle }: { circle: Circle }) {
  const { config, work } = usePage();
  const { local } = config;
  if (!local) return null;
  const { state, roundEnd, joinBy } = circle;
  const isJoining = state === 'JOINING';
  const end = isJoining ? joinBy : state === 'RUNNING' ? roundEnd : null;
  const act = async (): Promise<string> => {
    await local.actIn(circle);
    return isJoining ? 'They have joined.' : 'They have paid.';
  };
  const pass = async (): Promise<string> => {
    await local.passTo(end!);
    return 'The time is over.';
  };
  return (
    <>
      {local.saversIn(circle).length > 0 && (
        <Button
          kind="local"
          text={`Have the test savers ${isJoining ? 'join' : 'pay'}`}
          onClick={() => work('Test savers', act)}
        />
      )}
      {end !== null && secondsTo(end) > 0 && (
        <Button kind="local" text="Let the time pass" onClick={() => work('Let the time pass', pass)} />
      )}
    </>
  );
}
