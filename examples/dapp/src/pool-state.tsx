import type { PoolItem } from '@pooled-savings/client';

type Summary = PoolItem['recentTransactions'][number];

/** What has become of its deposits: one that nobody paid is not confirmed. */
export function PoolState({
  pool,
  pending,
  isOthers,
  isPaying,
}: {
  pool: PoolItem;
  pending: Summary | undefined;
  isOthers: boolean;
  isPaying: boolean;
}) {
  const deposits = pool.recentTransactions.filter(({ type }) => type === 'DEPOSIT');
  const isPaid = deposits.some(({ status }) => status === 'CONFIRMED') || BigInt(pool.balance) > 0n;
  const [text, kind] = pending?.submitted
    ? ['Paid, not confirmed yet', 'warn']
    : isPaying
      ? ['Payment under way', 'warn']
      : pending
        ? [isOthers ? 'Waiting for its owner' : 'Waiting for payment', 'warn']
        : isPaid
          ? ['Confirmed', 'good']
          : [deposits.length > 0 ? 'Expired, not paid' : 'Nothing paid yet', ''];
  return <span class={`chip ${kind}`}>{text}</span>;
}
