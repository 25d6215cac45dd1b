import { useEffect, useState } from 'preact/hooks';
import { type Token, withSymbol } from './format.js';
import { type Public, readPublic } from './session.js';

/** What the service shows to everyone: totals, and the open draw. Only where its operator wants that. */
export function Visitor({ token }: { token: Token }) {
  const [shown, show] = useState<Public>();
  // Without it the page is still one to sign in on.
  useEffect(() => void readPublic().then(show, () => undefined), []);
  if (!shown) return null;
  const { analytics, draw } = shown;
  const paid = BigInt(analytics.totalDeposits) - BigInt(analytics.pendingDeposits);
  const facts = [
    ['Paid into pools so far', withSymbol(paid, token)],
    ['Pools', String(analytics.totalPools)],
    ['Average APR', `${analytics.averageAPR} %`],
    ...(draw
      ? [
          ['Prize of the open draw', withSymbol(draw.prizePool, token)],
          ['Chance of a ticket bought now', `1 in ${draw.totalTickets + 1}`],
        ]
      : []),
  ];
  return (
    <dl class="facts" aria-label="The service in figures">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
