import { type Token, withSymbol } from './format.js';

const DAYS = 14;
const DAY_MS = 86_400_000;

const dayText = (date: string): string =>
  new Date(date).toLocaleDateString(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });

/** Bars of the last two weeks. A table also has the numbers, for people who cannot see the picture. */
export function BarChart(props: {
  title: string;
  points: readonly { date: string; amount: string }[];
  token: Token;
  kind: 'deposits' | 'yields';
  /** What the numbers do not say. */
  note?: string;
}) {
  const { title, points, token, kind, note } = props;
  const last = Math.max(Date.now(), ...points.map(({ date }) => Date.parse(date)));
  const days = Array.from({ length: DAYS }, (_, index) => {
    const date = new Date(last - (DAYS - 1 - index) * DAY_MS).toISOString().slice(0, 10);
    return { date, amount: BigInt(points.find((each) => each.date === date)?.amount ?? 0) };
  });
  const most = days.reduce((found, { amount }) => (amount > found ? amount : found), 1n);
  const total = days.reduce((sum, { amount }) => sum + amount, 0n);
  return (
    <figure class={`chart ${kind}`}>
      <figcaption>
        <span>{title}</span>
        <strong>{withSymbol(total, token)}</strong>
      </figcaption>
      {note && <p class="hint">{note}</p>}
      <svg viewBox={`0 0 ${DAYS} 100`} preserveAspectRatio="none" aria-hidden="true">
        {days.map(({ date, amount }, index) => {
          // As bigint up to here: amounts are too large for numbers. What is small is seen all the same.
          const height = amount === 0n ? 0 : Math.max(3, Number((amount * 100n) / most));
          return (
            <rect key={date} x={index + 0.18} width="0.64" y={100 - height} height={height}>
              <title>{`${dayText(date)}: ${withSymbol(amount, token)}`}</title>
            </rect>
          );
        })}
      </svg>
      <p class="days" aria-hidden="true">
        {[0, 6, DAYS - 1].map((index) => (
          <span key={index}>{dayText(days[index].date)}</span>
        ))}
      </p>
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
