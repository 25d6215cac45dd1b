import type { DrawEntry } from '@pooled-savings/client';
import { type Token, withSymbol } from './format.js';

/** A draw of one of the contracts. */
export type DrawOf = Pick<DrawEntry, 'drawId' | 'contract'>;

export type Due = NonNullable<DrawEntry['due']>;

export const DUE: Record<Due, (amount: string, token: Token) => string> = {
  claim: (amount, token) => `Take ${withSymbol(amount, token)}`,
  refund: (amount, token) => `Take back ${withSymbol(amount, token)}`,
  complete: () => 'Pick the winner',
  cancel: () => 'Cancel the draw',
};

/** A draw into which the caller paid, and what the caller may do about it. */
export function Entry({
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
        {due && (
          <button type="button" class="main" onClick={() => settle(entry, due)}>
            {DUE[due](amount, token)}
          </button>
        )}
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

export const ticketsText = (count: number): string => `${count} ${count === 1 ? 'ticket' : 'tickets'}`;
