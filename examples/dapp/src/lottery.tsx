import type { CurrentDraw, DrawEntry, Winner } from '@pooled-savings/client';
import { useEffect, useState } from 'preact/hooks';
import { durationText, secondsTo } from './clock.js';
import { type Token, amountText, dateText, shortAddress, withSymbol } from './format.js';
import { Button } from './parts.js';
import type { Tokens } from './tokens.js';

/** A draw of one of the contracts. */
export type DrawOf = Pick<DrawEntry, 'drawId' | 'contract'>;

export type Due = NonNullable<DrawEntry['due']>;

const MOST_TICKETS = 100;
/** The local chain can be moved forward to a draw this soon. */
const SHORT_DRAW_SECONDS = 300;

export interface LotteryActions {
  buy: (count: number) => void;
  /** Does what is due: pays the prize or the refund out, or moves the draw on as anyone may. */
  settle: (draw: DrawOf, due: Due) => void;
  /** All draws into which the caller paid. */
  all: () => Promise<readonly DrawEntry[]>;
  /** Only on the local chain. */
  local?: { openShort: () => void; end: (draw: CurrentDraw) => void };
}

export function Lottery({
  draw,
  entries,
  entryCount,
  winners,
  address,
  tokens,
  actions,
}: {
  draw: CurrentDraw | null;
  /** The newest. */
  entries: readonly DrawEntry[];
  /** How many there are. */
  entryCount: number;
  winners: readonly Winner[];
  address: string;
  tokens: Tokens;
  actions: LotteryActions;
}) {
  const [older, showOlder] = useState(false);
  const [all, setAll] = useState<readonly DrawEntry[]>([]);
  useEffect(() => {
    if (!older) return;
    let isNewest = true;
    void actions.all().then(
      (read) => isNewest && setAll(read),
      () => showOlder(false),
    );
    return () => void (isNewest = false);
  }, [older, entries]);
  const isOpen = (entry: DrawOf): boolean =>
    entry.drawId === draw?.drawId && entry.contract === draw.contract;
  // The newest are read more often, so they are shown as they are there.
  const newest = new Set(entries.map(keyOf));
  const listed = [...entries, ...all.filter((each) => !newest.has(keyOf(each)))].filter(
    (each) => !isOpen(each),
  );
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
          mine={entries.find(isOpen)}
          token={tokens.ofContract(draw.contract)}
          inWallet={tokens.inWallet(tokens.ofContract(draw.contract))}
          actions={actions}
        />
      ) : (
        <p class="muted">No draw is open at the moment.</p>
      )}
      {actions.local && (
        <div class="actions">
          {draw && draw.totalTickets > 0 && secondsTo(draw.drawTime) <= SHORT_DRAW_SECONDS ? (
            <Button kind="local" text="End the draw now" onClick={() => actions.local?.end(draw)} />
          ) : (
            <Button kind="local" text="Start a one-minute draw" onClick={actions.local.openShort} />
          )}
        </div>
      )}
      {listed.length > 0 && (
        <>
          <h3 id="entries">Your draws</h3>
          <ul class="rows" aria-labelledby="entries">
            {listed.map((entry) => (
              <Entry
                key={keyOf(entry)}
                entry={entry}
                token={tokens.ofContract(entry.contract)}
                settle={actions.settle}
              />
            ))}
          </ul>
        </>
      )}
      {entryCount > entries.length && !older && (
        <Button kind="link" text={`Show all ${entryCount} draws`} onClick={() => showOlder(true)} />
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
                <strong>{withSymbol(prize, tokens.ofContract(contract))}</strong>
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
  inWallet,
  actions,
}: {
  draw: CurrentDraw;
  mine: DrawEntry | undefined;
  token: Token;
  inWallet: bigint | null;
  actions: LotteryActions;
}) {
  const [count, setCount] = useState('1');
  const [left, setLeft] = useState(() => secondsTo(draw.drawTime));
  useEffect(() => {
    const tick = (): void => setLeft(secondsTo(draw.drawTime));
    tick();
    const timer = setInterval(tick, 1000);
    return () => clearInterval(timer);
  }, [draw.drawTime]);
  const tickets = Number(count);
  const valid = Number.isInteger(tickets) && tickets >= 1 && tickets <= MOST_TICKETS;
  const cost = valid ? BigInt(draw.ticketPrice) * BigInt(tickets) : 0n;
  const tooMuch = inWallet !== null && cost > inWallet;
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
            if (valid) actions.buy(tickets);
          }}
        >
          <label>
            <span class="unseen">Number of tickets</span>
            <input
              aria-invalid={!valid || tooMuch}
              aria-describedby="tickets-wrong"
              type="number"
              min="1"
              max={MOST_TICKETS}
              value={count}
              onInput={(event) => setCount(event.currentTarget.value)}
            />
          </label>
          <button type="submit" class="main" disabled={!valid || tooMuch}>
            Buy for {withSymbol(cost, token)}
          </button>
          <p id="tickets-wrong" class="wrong" role="status">
            {!valid && `From 1 to ${MOST_TICKETS} tickets`}
            {tooMuch && `Your wallet has ${withSymbol(inWallet, token)}`}
          </p>
        </form>
      )}
      {draw.due && (
        <Button
          kind="main"
          text={DUE[draw.due]('0', token)}
          onClick={() => actions.settle(draw, draw.due!)}
        />
      )}
    </>
  );
}

const keyOf = ({ contract, drawId }: DrawOf): string => `${contract} ${drawId}`;

const DUE: Record<Due, (amount: string, token: Token) => string> = {
  claim: (amount, token) => `Take ${withSymbol(amount, token)}`,
  refund: (amount, token) => `Take back ${withSymbol(amount, token)}`,
  complete: () => 'Pick the winner',
  cancel: () => 'Cancel the draw',
};

/** A draw into which the caller paid, and what the caller may do about it. */
function Entry({
  entry,
  token,
  settle,
}: {
  entry: DrawEntry;
  token: Token;
  settle: (draw: DrawOf, due: Due) => void;
}) {
  const { drawId, tickets, due, refundable, prize } = entry;
  const [outcome, kind] = outcomeOf(entry, token);
  const amount = due === 'refund' ? refundable : (prize ?? '0');
  return (
    <li data-draw={drawId}>
      <span>
        Draw {drawId} <span class="muted">· {ticketsText(tickets)}</span>
      </span>
      <span class="end">
        <span class={`chip ${kind}`}>{outcome}</span>
        {due && <Button kind="main" text={DUE[due](amount, token)} onClick={() => settle(entry, due)} />}
      </span>
    </li>
  );
}

function outcomeOf({ status, won, prize, paid, refundable }: DrawEntry, token: Token): [string, string] {
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

const ticketsText = (count: number): string => `${count} ${count === 1 ? 'ticket' : 'tickets'}`;
