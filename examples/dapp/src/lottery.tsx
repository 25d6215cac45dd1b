import type { CurrentDraw, DrawEntry, Winner } from '@pooled-savings/client';
import { useEffect, useState } from 'preact/hooks';
import { type Token, amountText, dateText, shortAddress, withSymbol } from './format.js';
import { SHORT_DRAW_SECONDS } from './local-chain.js';

const MOST_TICKETS = 100;

export interface LotteryActions {
  buy: (draw: CurrentDraw, count: number) => void;
  /** Only on the local chain. */
  local?: { openShort: () => void; end: (draw: CurrentDraw) => void };
}

export function Lottery({
  draw,
  entries,
  winners,
  address,
  token,
  actions,
}: {
  draw: CurrentDraw | null;
  entries: readonly DrawEntry[];
  winners: readonly Winner[];
  address: string;
  token: Token;
  actions: LotteryActions;
}) {
  const ended = entries.filter(({ status }) => status === 'COMPLETED' || status === 'CANCELLED');
  return (
    <section aria-labelledby="lottery" class="card lottery">
      <div class="section-head">
        <h2 id="lottery">Lottery</h2>
        {draw && (
          <span class={`chip ${draw.status === 'ACTIVE' ? 'good' : 'warn'}`}>
            Draw {draw.drawId} · {draw.status === 'ACTIVE' ? 'open' : 'drawing'}
          </span>
        )}
      </div>
      {draw ? (
        <OpenDraw
          draw={draw}
          mine={entries.find(({ drawId, contract }) => drawId === draw.drawId && contract === draw.contract)}
          token={token}
          actions={actions}
        />
      ) : (
        <p class="muted">No draw is open at the moment.</p>
      )}
      {actions.local && (
        <div class="actions">
          {draw && draw.totalTickets > 0 && secondsTo(draw) <= SHORT_DRAW_SECONDS ? (
            <button type="button" class="local" onClick={() => actions.local?.end(draw)}>
              End the draw now
            </button>
          ) : (
            <button type="button" class="local" onClick={actions.local.openShort}>
              Start a one-minute draw
            </button>
          )}
        </div>
      )}
      {ended.length > 0 && (
        <ul class="rows" aria-label="Your draws">
          {ended.map((entry) => (
            <li key={`${entry.contract} ${entry.drawId}`}>
              <span>
                Draw {entry.drawId} <span class="muted">· {ticketsText(entry.tickets)}</span>
              </span>
              <Outcome entry={entry} token={token} />
            </li>
          ))}
        </ul>
      )}
      {winners.length > 0 && (
        <>
          <h3>Latest winners</h3>
          <ul class="rows">
            {winners.map(({ drawId, contract, winner, prize, drawnAt }) => (
              <li key={`${contract} ${drawId}`}>
                <span title={winner}>
                  {winner === address ? 'You' : shortAddress(winner)}{' '}
                  <span class="muted">· {dateText(drawnAt)}</span>
                </span>
                <strong>{withSymbol(prize, token)}</strong>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function OpenDraw({
  draw,
  mine,
  token,
  actions,
}: {
  draw: CurrentDraw;
  mine: DrawEntry | undefined;
  token: Token;
  actions: LotteryActions;
}) {
  const [count, setCount] = useState('1');
  const [left, setLeft] = useState(() => secondsTo(draw));
  useEffect(() => {
    const tick = (): void => setLeft(secondsTo(draw));
    tick();
    const timer = setInterval(tick, 1000);
    return () => clearInterval(timer);
  }, [draw.drawTime]);
  const tickets = Number(count);
  const valid = Number.isInteger(tickets) && tickets >= 1 && tickets <= MOST_TICKETS;
  const cost = valid ? BigInt(draw.ticketPrice) * BigInt(tickets) : 0n;
  const sells = draw.status === 'ACTIVE' && left > 0;
  return (
    <>
      <p class="figure">
        {amountText(draw.prizePool, token)} <small>{token.symbol} to win</small>
      </p>
      <p class="muted">
        {ticketsText(draw.totalTickets)} sold · yours{' '}
        <strong data-field="tickets">{mine?.tickets ?? 0}</strong> ·{' '}
        {sells ? `draws in ${durationText(left)}` : 'no more tickets'}
      </p>
      {sells && (
        <form
          class="inline"
          onSubmit={(event) => {
            event.preventDefault();
            if (valid) actions.buy(draw, tickets);
          }}
        >
          <label>
            <span class="unseen">Number of tickets</span>
            <input
              type="number"
              min="1"
              max={MOST_TICKETS}
              value={count}
              onInput={(event) => setCount(event.currentTarget.value)}
            />
          </label>
          <button type="submit" class="main" disabled={!valid}>
            Buy for {withSymbol(cost, token)}
          </button>
        </form>
      )}
    </>
  );
}

function Outcome({ entry, token }: { entry: DrawEntry; token: Token }) {
  if (entry.status === 'CANCELLED') return <span class="chip">Cancelled</span>;
  if (entry.won) return <span class="chip good">Won {withSymbol(entry.prize ?? '0', token)}</span>;
  return <span class="chip">Not this time</span>;
}

const secondsTo = ({ drawTime }: CurrentDraw): number =>
  Math.max(0, Math.round((Date.parse(drawTime) - Date.now()) / 1000));

const ticketsText = (count: number): string => `${count} ${count === 1 ? 'ticket' : 'tickets'}`;

function durationText(seconds: number): string {
  if (seconds >= 172_800) return `${Math.floor(seconds / 86_400)} days`;
  if (seconds >= 7_200) return `${Math.floor(seconds / 3_600)} hours`;
  if (seconds >= 120) return `${Math.floor(seconds / 60)} minutes`;
  return `${seconds} s`;
}
