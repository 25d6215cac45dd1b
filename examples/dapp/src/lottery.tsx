import type { CurrentDraw, DrawEntry, PaymentKind, Winner } from '@pooled-savings/client';
import { useEffect, useState } from 'preact/hooks';
import { durationText, secondsTo, useTicks } from './clock.js';
import { type Token, amountText, countText, dateText, shortAddress, withSymbol } from './format.js';
import { usePage } from './page.js';
import { Button, type Chip, ChipText } from './parts.js';
import { client } from './session.js';

type DrawOf = Pick<DrawEntry, 'drawId' | 'contract'>;
type Due = NonNullable<DrawEntry['due']>;

const MOST_TICKETS = 100;
/** The local chain can be moved forward to a draw this soon. */
const SHORT_DRAW_SECONDS = 300;

const keyOf = ({ contract, drawId }: DrawOf): string => `${contract} ${drawId}`;

/** What can be done about a draw, by what is due. */
const DUE = {
  claim: ['Take', 'claimPrize'],
  refund: ['Take back', 'refund'],
  complete: ['Pick the winner', 'completeDraw'],
  cancel: ['Cancel the draw', 'cancelDraw'],
} as const satisfies Record<Due, readonly [string, PaymentKind]>;

export function Lottery() {
  const { session, config, data, tokens } = usePage();
  const { draw, winners } = data;
  const [older, setOlder] = useState<readonly DrawEntry[]>();
  const { entries } = data;
  const readOlder = async (): Promise<void> => {
    const all: DrawEntry[] = [];
    for await (const entry of client.lottery.allMine()) all.push(entry);
    setOlder(all);
  };
  useEffect(() => {
    if (older) void readOlder().catch(() => setOlder(undefined));
  }, [entries]);
  // The newest are read more often. A page of the others may repeat what another one has.
  const listed = new Map([...(older ?? []), ...entries.data].map((each) => [keyOf(each), each]));
  const mine = draw && listed.get(keyOf(draw));
  if (draw) listed.delete(keyOf(draw));
  const sorted = [...listed.values()].sort((a, b) => b.drawId - a.drawId);
  return (
    <section aria-labelledby="lottery" class="card lottery">
      <div class="section-head">
        <h2 id="lottery">Lottery</h2>
        {draw && (
          <ChipText
            chip={
              draw.status === 'ACTIVE'
                ? [`Draw ${draw.drawId} · open`, 'good']
                : [`Draw ${draw.drawId} · drawing`, 'warn']
            }
          />
        )}
      </div>
      {draw ? (
        <OpenDraw draw={draw} tickets={mine?.tickets ?? 0} />
      ) : (
        <p class="muted">No draw is open at the moment.</p>
      )}
      {config.local && <LocalButtons draw={draw} />}
      {sorted.length > 0 && (
        <>
          <h3 id="entries">Your draws</h3>
          <ul class="rows" aria-labelledby="entries">
            {sorted.map((entry) => (
              <Entry key={keyOf(entry)} entry={entry} token={tokens.ofContract(entry.contract)} />
            ))}
          </ul>
        </>
      )}
      {entries.pagination.total > entries.data.length && !older && (
        <Button
          kind="link"
          text={`Show all ${entries.pagination.total} draws`}
          onClick={() => void readOlder().catch(() => undefined)}
        />
      )}
      {winners.data.length > 0 && (
        <>
          <h3>Latest winners</h3>
          <ul class="rows">
            {winners.data.map((won) => (
              <li key={keyOf(won)}>
                <span title={won.winner}>
                  {won.winner === session.address ? 'You' : shortAddress(won.winner)}{' '}
                  <span class="muted">· {dateText(won.drawnAt)}</span>
                </span>
                <strong>{withSymbol(won.prize, tokens.ofContract(won.contract))}</strong>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function OpenDraw({ draw, tickets: mine }: { draw: CurrentDraw; tickets: number }) {
  const { tokens, pay } = usePage();
  const token = tokens.ofContract(draw.contract);
  const inWallet = tokens.inWallet(token);
  const [count, setCount] = useState('1');
  useTicks(true);
  const left = secondsTo(draw.drawTime);
  const tickets = Number(count);
  const valid = Number.isInteger(tickets) && tickets >= 1 && tickets <= MOST_TICKETS;
  const cost = valid ? BigInt(draw.ticketPrice) * BigInt(tickets) : 0n;
  const tooMuch = inWallet !== null && cost > inWallet;
  const sells = draw.status === 'ACTIVE' && left > 0;
  const buy = (event: Event): void => {
    event.preventDefault();
    if (valid) pay({ kind: 'buyTickets', count: `${tickets}` });
  };
  return (
    <>
      <p class="figure">
        {amountText(draw.prizePool, token)} <small>{token.symbol} to win</small>
      </p>
      <p class="muted">
        {countText(draw.totalTickets, 'ticket')} sold · yours <strong data-field="tickets">{mine}</strong> ·{' '}
        {sells ? `draws in ${durationText(left)}` : 'no more tickets'}
      </p>
      {sells && (
        <form class="inline" onSubmit={buy}>
          <input
            aria-label="Number of tickets"
            aria-invalid={!valid || tooMuch}
            aria-describedby="tickets-wrong"
            type="number"
            min="1"
            max={MOST_TICKETS}
            value={count}
            onInput={(event) => setCount(event.currentTarget.value)}
          />
          <button type="submit" class="main" disabled={!valid || tooMuch}>
            Buy for {withSymbol(cost, token)}
          </button>
          <p id="tickets-wrong" class="wrong" role="status">
            {!valid && `From 1 to ${MOST_TICKETS} tickets`}
            {tooMuch && `Your wallet has ${withSymbol(inWallet, token)}`}
          </p>
        </form>
      )}
      <DueButton draw={draw} due={draw.due} />
    </>
  );
}

/** Pays the prize or the refund out, or moves the draw on as anyone may. */
function DueButton({ draw, due, amount }: { draw: DrawOf; due: Due | null; amount?: string }) {
  const { pay } = usePage();
  if (!due) return null;
  const [text, kind] = DUE[due];
  const { drawId, contract } = draw;
  const withAmount = due === 'claim' || due === 'refund' ? `${text} ${amount ?? ''}` : text;
  return <Button kind="main" text={withAmount} onClick={() => pay({ kind, drawId, contract })} />;
}

/** A draw into which the user paid, and what the user can do about it. */
function Entry({ entry, token }: { entry: DrawEntry; token: Token }) {
  const { drawId, tickets, due, refundable, prize } = entry;
  const amount = due === 'refund' ? refundable : (prize ?? '0');
  return (
    <li data-draw={drawId}>
      <span>
        Draw {drawId} <span class="muted">· {countText(tickets, 'ticket')}</span>
      </span>
      <span class="end">
        <ChipText chip={outcomeOf(entry, token)} />
        <DueButton draw={entry} due={due} amount={withSymbol(amount, token)} />
      </span>
    </li>
  );
}

function outcomeOf({ status, won, prize, paid, refundable }: DrawEntry, token: Token): Chip {
  switch (status) {
    case 'ACTIVE':
      return ['Open', 'warn'];
    case 'DRAWING':
      return ['Drawing', 'warn'];
    case 'CANCELLED':
      return refundable === '0' ? ['Cancelled, refunded', ''] : ['Cancelled', 'warn'];
    case 'COMPLETED':
      if (!won) return ['Not this time', ''];
      return [`Won ${withSymbol(prize ?? '0', token)}${paid ? ', paid' : ''}`, 'good'];
  }
}

/** On the local chain a draw ends within a minute. */
function LocalButtons({ draw }: { draw: CurrentDraw | null }) {
  const { session, config, tokens, work, untilSeen } = usePage();
  const local = config.local!;
  const start = async (): Promise<string> => {
    await local.openShortDraw(draw);
    await untilSeen(
      (seen) => seen.draw !== null && seen.draw.drawId !== draw?.drawId && seen.draw.prizePool !== '0',
    );
    return 'Buy tickets within a minute, then end the draw.';
  };
  const end = async (): Promise<string> => {
    await local.endDraw(draw!);
    let won: Winner | undefined;
    await untilSeen(
      ({ winners }) => (won = winners.data.find((each) => keyOf(each) === keyOf(draw!))) !== undefined,
    );
    if (!won) return 'The winner shows here once the service has seen it.';
    const prize = withSymbol(won.prize, tokens.ofContract(won.contract));
    return won.winner === session.address ? `You have won ${prize}!` : `Another saver has won ${prize}.`;
  };
  const isShort = draw && draw.totalTickets > 0 && secondsTo(draw.drawTime) <= SHORT_DRAW_SECONDS;
  return (
    <div class="actions">
      {isShort ? (
        <Button kind="local" text="End the draw now" onClick={() => work('End the draw', end)} />
      ) : (
        <Button kind="local" text="Start a one-minute draw" onClick={() => work('One-minute draw', start)} />
      )}
    </div>
  );
}
