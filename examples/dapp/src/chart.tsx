import { type Token, amountText, withSymbol } from './format.js';
import type { Holdings } from './session.js';
import type { Tokens } from './tokens.js';

interface Point {
  date: string;
  amount: string;
}

const DAYS = 14;
const WIDTH = 420;
const HEIGHT = 132;
const BASE = 112;
const TOP = 22;
const DAY_MS = 86_400_000;

/** Bars of the last two weeks. A table also has the numbers, for people who cannot see the picture. */
export function BarChart({
  title,
  points,
  token,
  kind,
  note,
}: {
  title: string;
  points: readonly Point[];
  token: Token;
  kind: 'deposits' | 'yields';
  /** What the numbers do not say. */
  note?: string;
}) {
  const byDate = new Map(points.map(({ date, amount }) => [date, BigInt(amount)]));
  const last = Math.max(Date.now(), ...points.map(({ date }) => Date.parse(date)));
  const days = Array.from({ length: DAYS }, (_, index) => {
    const date = new Date(last - (DAYS - 1 - index) * DAY_MS).toISOString().slice(0, 10);
    return { date, amount: byDate.get(date) ?? 0n };
  });
  const most = days.reduce((found, { amount }) => (amount > found ? amount : found), 0n);
  const total = days.reduce((sum, { amount }) => sum + amount, 0n);
  const step = WIDTH / DAYS;
  // In units of 1/10,000, computed as bigint: amounts are too large for numbers.
  const heightOf = (amount: bigint): number =>
    most === 0n ? 0 : (Number((amount * 10_000n) / most) / 10_000) * (BASE - TOP);
  return (
    <figure class={`chart ${kind}`}>
      <figcaption>
        <span>{title}</span>
        <strong>{withSymbol(total, token)}</strong>
      </figcaption>
      {note && <p class="hint">{note}</p>}
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
        <line class="grid" x1="0" x2={WIDTH} y1={TOP} y2={TOP} />
        <line class="grid" x1="0" x2={WIDTH} y1={(TOP + BASE) / 2} y2={(TOP + BASE) / 2} />
        <line class="axis" x1="0" x2={WIDTH} y1={BASE} y2={BASE} />
        {most > 0n && (
          <text x="0" y={TOP - 6}>
            {amountText(most, token)}
          </text>
        )}
        {days.map(({ date, amount }, index) => {
          const height = amount > 0n ? Math.max(3, heightOf(amount)) : 0;
          return (
            <rect
              key={date}
              x={index * step + step * 0.18}
              width={step * 0.64}
              y={BASE - height}
              height={height}
              rx="3"
            >
              <title>{`${dayText(date)}: ${withSymbol(amount, token)}`}</title>
            </rect>
          );
        })}
        {[0, 6, DAYS - 1].map((index) => (
          <text
            key={index}
            x={index * step + (index === 0 ? 0 : index === DAYS - 1 ? step : step / 2)}
            y={HEIGHT - 4}
            text-anchor={index === 0 ? 'start' : index === DAYS - 1 ? 'end' : 'middle'}
          >
            {dayText(days[index].date)}
          </text>
        ))}
      </svg>
      <table class="unseen">
        <caption>{title}, by day</caption>
        <tbody>
          {points.map(({ date, amount }) => (
            <tr key={date}>
              <th scope="row">{date}</th>
              <td>{withSymbol(amount, token)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}

/**
 * The caller's deposits that were paid, by day. The service counts announced ones too; which those are is known of the
 * newest of each pool that the caller owns, since only the owner announces any.
 * @returns what is not paid and could not be told apart, besides
 */
export function paidOf(
  { analytics, pools }: Holdings,
  { first, ofContract }: Tokens,
): { points: Point[]; unpaid: bigint } {
  const announced = pools
    .filter(({ contractAddress }) => ofContract(contractAddress).address === first.address)
    .flatMap(({ recentTransactions }) => recentTransactions)
    .filter(({ type, status }) => type === 'DEPOSIT' && status === 'PENDING');
  const byDay = new Map<string, bigint>();
  for (const { createdAt, amount } of announced) {
    const day = createdAt.slice(0, 10);
    byDay.set(day, (byDay.get(day) ?? 0n) + BigInt(amount));
  }
  let unpaid = BigInt(analytics.pendingDeposits);
  const points = analytics.chartData.deposits.map(({ date, amount }) => {
    const most = [byDay.get(date) ?? 0n, BigInt(amount), unpaid];
    const left = most.reduce((least, each) => (each < least ? each : least));
    unpaid -= left;
    return { date, amount: (BigInt(amount) - left).toString() };
  });
  return { points: points.filter(({ amount }) => amount !== '0'), unpaid };
}

const dayText = (date: string): string =>
  new Date(date).toLocaleDateString(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });
