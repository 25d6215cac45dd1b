import type { PoolItem, PoolType, Position } from '@pooled-savings/client';
import { useState } from 'preact/hooks';
import { Dialog } from './dialog.js';
import type { Problem } from './errors.js';
import { AmountDialog } from './fields.js';
import { PoolState } from './pool-state.js';
import { type Token, amountText, dateText, numberText, withSymbol } from './format.js';

export const TYPES: Record<PoolType, { name: string; text: string; sign: string }> = {
  individual: { name: 'Personal', text: 'Only for you', sign: '◉' },
  cooperative: { name: 'Cooperative', text: 'Together with others', sign: '❖' },
  rotating: { name: 'Rotating', text: 'Together; whose turn it is, you agree among you', sign: '⟳' },
  lottery: { name: 'Lottery', text: 'In the contract of the lottery; tickets are bought apart', sign: '★' },
};

export interface PoolActions {
  /** Pays what is pending. */
  pay: (pool: PoolItem, deposit: { transaction: string; amount: bigint }) => void;
  /** Resolves to what is wrong with the amount; nothing was sent then. */
  deposit: (pool: PoolItem, amount: bigint) => Promise<Problem | undefined>;
  withdraw: (pool: PoolItem, amount: bigint) => void;
  claim: (pool: PoolItem) => void;
  /** Has the wallet say whether its yield is paid in again. */
  compound: (pool: PoolItem, enabled: boolean) => void;
  /** Removes a pool that was never paid. */
  cancel: (pool: PoolItem) => void;
  /** Only on the local chain. */
  accrue?: (pool: PoolItem) => void;
}

type Asking = { pool: PoolItem; what: 'deposit' | 'withdraw' | 'cancel' } | undefined;

export function Pools({
  pools,
  positions,
  token,
  inWallet,
  paying,
  address,
  actions,
  onNew,
}: {
  pools: readonly PoolItem[];
  positions: ReadonlyMap<string, Position>;
  token: Token;
  inWallet: bigint | null;
  /** Pools into which a payment of this browser is under way, with a function that shows it. */
  paying: ReadonlyMap<string, () => void>;
  address: string;
  actions: PoolActions;
  onNew: () => void;
}) {
  const [asking, ask] = useState<Asking>();
  const balance = BigInt((asking && positions.get(asking.pool.id)?.balance) ?? 0);
  const close = (): void => ask(undefined);
  return (
    <section aria-labelledby="pools">
      <div class="section-head">
        <h2 id="pools">Your pools</h2>
        <button type="button" class="main" onClick={onNew}>
          New pool
        </button>
      </div>
      {pools.length === 0 && (
        <div class="card empty">
          <p>No pools yet. Create one, pay in, and watch it arrive.</p>
        </div>
      )}
      <ul class="pools">
        {pools.map((pool) => (
          <PoolCard
            key={pool.id}
            pool={pool}
            position={positions.get(pool.id)}
            token={token}
            showPayment={paying.get(pool.id)}
            address={address}
            actions={actions}
            ask={(what) => ask({ pool, what })}
          />
        ))}
      </ul>
      {asking?.what === 'deposit' && (
        <AmountDialog
          title="Deposit"
          says="You pay"
          token={token}
          most={inWallet}
          onClose={close}
          onAmount={(amount) => actions.deposit(asking.pool, amount)}
        />
      )}
      {asking?.what === 'withdraw' && (
        <AmountDialog
          title="Withdraw"
          says="You take out"
          token={token}
          most={balance}
          onClose={close}
          onAmount={(amount) => {
            actions.withdraw(asking.pool, amount);
            return Promise.resolve(undefined);
          }}
        />
      )}
      {asking?.what === 'cancel' && (
        <Dialog title="Cancel this pool?" onClose={close}>
          <p>Nothing was paid into it. It will be gone for its members, too.</p>
          <div class="actions">
            <button
              type="button"
              class="main"
              onClick={() => {
                close();
                actions.cancel(asking.pool);
              }}
            >
              Cancel the pool
            </button>
            <button type="button" onClick={close}>
              Keep it
            </button>
          </div>
        </Dialog>
      )}
    </section>
  );
}

function PoolCard({
  pool,
  position,
  token,
  showPayment,
  address,
  actions,
  ask,
}: {
  pool: PoolItem;
  position: Position | undefined;
  token: Token;
  showPayment: (() => void) | undefined;
  address: string;
  actions: PoolActions;
  ask: (what: NonNullable<Asking>['what']) => void;
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
  const neverPaid = pool.recentTransactions.every(({ status }) => status !== 'CONFIRMED');
  /** Only its owner owes a deposit to a pool that was never paid. */
  const mayCancel = neverPaid && pool.recentTransactions.some(isMine);
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
          <dd data-field="earned">{amountText(position?.earned ?? '0', token)}</dd>
        </div>
        <div>
          <dt>To claim</dt>
          <dd data-field="claimable">{amountText(claimable, token)}</dd>
        </div>
      </dl>
      <div class="actions">
        {showPayment ? (
          <button type="button" onClick={showPayment}>
            Show the payment
          </button>
        ) : (
          pending &&
          !pending.submitted &&
          !others && (
            <button
              type="button"
              class="main"
              onClick={() => actions.pay(pool, { transaction: pending.id, amount: BigInt(pending.amount) })}
            >
              Pay {withSymbol(pending.amount, token)}
            </button>
          )
        )}
        {!pending && !showPayment && (
          <button type="button" onClick={() => ask('deposit')}>
            Deposit
          </button>
        )}
        {held > 0n && (
          <button type="button" onClick={() => ask('withdraw')}>
            Withdraw
          </button>
        )}
        {claimable > 0n && (
          <button type="button" class="main" onClick={() => actions.claim(pool)}>
            Claim
          </button>
        )}
        {position && (
          <button type="button" onClick={() => actions.compound(pool, !position.compounding)}>
            {position.compounding ? 'Stop compounding' : 'Compound yield'}
          </button>
        )}
        {mayCancel && !pending?.submitted && !showPayment && (
          <button type="button" onClick={() => ask('cancel')}>
            Cancel the pool
          </button>
        )}
        {actions.accrue && paid > 0n && (
          <button type="button" class="local" onClick={() => actions.accrue?.(pool)}>
            Add 5 % yield
          </button>
        )}
      </div>
    </li>
  );
}
