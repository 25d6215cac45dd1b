import type { PoolItem, Position } from '@pooled-savings/client';
import { type Token, amountText, dateText, numberText, shortAddress, withSymbol } from './format.js';
import { PoolState } from './pool-state.js';
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
        <div>
          <dt>You hold</dt>
          <dd data-field="held">{amountText(held, token)}</dd>
        </div>
        <div>
          <dt>Earned</dt>
          <dd data-field="earned">
            {position?.earned === null ? '–' : amountText(position?.earned ?? '0', token)}
          </dd>
        </div>
        <div>
          <dt>To claim</dt>
          <dd data-field="claimable">{position?.claimable === null ? '–' : amountText(claimable, token)}</dd>
        </div>
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
          <button type="button" onClick={showPayment}>
            Show the payment
          </button>
        ) : (
          pending &&
          !pending.submitted &&
          !others &&
          can('deposit') && (
            <button
              type="button"
              class="main"
              onClick={() => actions.pay(pool, { depositId: pending.id, amount: BigInt(pending.amount) })}
            >
              Pay {withSymbol(pending.amount, token)}
            </button>
          )
        )}
        {can('deposit') && !isOthers && !pending && !showPayment && (
          <button type="button" onClick={() => ask('deposit')}>
            Deposit
          </button>
        )}
        {can('withdraw') && held > 0n && (
          <button type="button" onClick={() => ask('withdraw')}>
            Withdraw
          </button>
        )}
        {can('claim') && (claimable > 0n || (!isOurs && held > 0n)) && (
          <button type="button" class="main" onClick={() => actions.claim(pool)}>
            Claim
          </button>
        )}
        {isOurs && position && (
          <button type="button" onClick={() => actions.compound(pool, !position.compounding)}>
            {position.compounding ? 'Stop compounding' : 'Compound yield'}
          </button>
        )}
        {mayCancel && !pending?.submitted && !showPayment && (
          <button type="button" onClick={() => ask('cancel')}>
            Cancel the pool
          </button>
        )}
        {actions.accrue && (isOurs || isVault(calls)) && paid > 0n && (
          <button type="button" class="local" onClick={() => actions.accrue?.(pool)}>
            Add 5 % yield
          </button>
        )}
      </div>
    </li>
  );
}
