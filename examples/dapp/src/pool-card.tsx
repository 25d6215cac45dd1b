import type { PoolItem, Position } from '@pooled-savings/client';
import { type Token, amountText, dateText, numberText, shortAddress, withSymbol } from './format.js';
import { Button, Facts } from './parts.js';
import { type PoolActions, TYPES } from './pools.js';
import { type Calls, isVault } from './session.js';

/** Only its owner owes a deposit to a pool that was never paid. */
export const isCancellable = ({ recentTransactions }: PoolItem, address: string): boolean =>
  recentTransactions.every(({ status }) => status !== 'CONFIRMED') &&
  recentTransactions.some(({ from }) => from === address.toLowerCase());

/** A pool into which its savers pay what they like. */
export function PoolCard({
  pool,
  position,
  token,
  showPayment,
  address,
  actions,
  ask,
  calls,
  isAccount,
}: {
  pool: PoolItem;
  /** Those that the service builds for its contract. */
  calls: Calls;
  isAccount: boolean;
  position: Position | undefined;
  token: Token;
  showPayment: (() => void) | undefined;
  address: string;
  actions: PoolActions;
  ask: (what: 'deposit' | 'withdraw' | 'cancel') => void;
}) {
  const { name, sign } = TYPES[pool.type];
  const pending = pool.recentTransactions.find(
    ({ type, status }) => type === 'DEPOSIT' && status === 'PENDING',
  );
  const paid = BigInt(pool.balance) - BigInt(pool.pendingBalance);
  const held = BigInt(position?.balance ?? 0);
  const claimable = BigInt(position?.claimable ?? 0);
  const isMine = ({ from }: { from: string }): boolean => from === address.toLowerCase();
  const others = pending !== undefined && !isMine(pending);
  // An account's transactions are those of its owner; the first is announced with the pool.
  const isOthers = isAccount && !pool.recentTransactions.some(isMine);
  const mayCancel = isCancellable(pool, address);
  const can = (call: Calls[number]): boolean => calls.includes(call);
  // At others' contracts nobody knows what can be claimed before it is.
  const isOurs = can('compounding');
  return (
    <li class="card pool" data-pool={pool.id}>
      <div class="pool-head">
        <span class={`sign ${pool.type}`} aria-hidden="true">
          {sign}
        </span>
        <h3>
          {name} <span class="muted">#{pool.id.slice(-4)}</span>
        </h3>
        <PoolState pool={pool} pending={pending} isOthers={others} isPaying={showPayment !== undefined} />
      </div>
      <p class="figure">
        {amountText(paid, token)} <small>{token.symbol}</small>
      </p>
      <p class="muted">
        {pending?.submitted ? (
          `${withSymbol(pending.amount, token)} sent ${dateText(pending.submitted.at)}`
        ) : (
          <>
            {pool.members > 0 ? `${pool.members + 1} savers` : '1 saver'} · APR {numberText(pool.apr)} %
            {pool.autoCompound && ' · its owner compounds'}
            {position?.compounding && ' · your yield is paid in again'}
          </>
        )}
      </p>
      <dl>
        <Facts
          facts={[
            ['You hold', amountText(held, token), 'held'],
            ['Earned', orUnknown(position?.earned, token), 'earned'],
            ['To claim', orUnknown(position?.claimable, token), 'claimable'],
          ]}
        />
      </dl>
      {isOthers && (
        <p class="hint">The money in this pool belongs to its owner, who alone can deposit and withdraw.</p>
      )}
      {!can('deposit') && !isOthers && (
        <p class="hint own-calls">
          Its contract <code title={pool.contractAddress}>{shortAddress(pool.contractAddress)}</code> has
          calls of its own, which this page does not know. Pay in and take out there; here you see what comes
          of it.
        </p>
      )}
      <div class="actions">
        {showPayment ? (
          <Button text="Show the payment" onClick={showPayment} />
        ) : (
          pending &&
          !pending.submitted &&
          !others &&
          can('deposit') && (
            <Button
              kind="main"
              text={`Pay ${withSymbol(pending.amount, token)}`}
              onClick={() => actions.pay(pool, { depositId: pending.id, amount: BigInt(pending.amount) })}
            />
          )
        )}
        {can('deposit') && !isOthers && !pending && !showPayment && (
          <Button text="Deposit" onClick={() => ask('deposit')} />
        )}
        {can('withdraw') && held > 0n && <Button text="Withdraw" onClick={() => ask('withdraw')} />}
        {can('claim') && (claimable > 0n || (!isOurs && held > 0n)) && (
          <Button kind="main" text="Claim" onClick={() => actions.claim(pool)} />
        )}
        {isOurs && position && (
          <Button
            text={position.compounding ? 'Stop compounding' : 'Compound yield'}
            onClick={() => actions.compound(pool, !position.compounding)}
          />
        )}
        {mayCancel && !pending?.submitted && !showPayment && (
          <Button text="Cancel the pool" onClick={() => ask('cancel')} />
        )}
        {actions.accrue && (isOurs || isVault(calls)) && paid > 0n && (
          <Button kind="local" text="Add 5 % yield" onClick={() => actions.accrue?.(pool)} />
        )}
      </div>
    </li>
  );
}

/** Null: nobody knows it before it is claimed. */
const orUnknown = (units: string | null | undefined, token: Token): string =>
  units === null ? '–' : amountText(units ?? '0', token);

type Summary = PoolItem['recentTransactions'][number];

/** What has become of its deposits: one that nobody paid is not confirmed. */
function PoolState({
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
