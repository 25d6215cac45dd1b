import type { PoolItem, PoolType, Position } from '@pooled-savings/client';
import { useState } from 'preact/hooks';
import { type CircleActions, CircleCard } from './circle-card.js';
import { OpenCircleDialog } from './circle-terms.js';
import { Button, Confirm } from './parts.js';
import type { Problem } from './errors.js';
import { AmountDialog } from './fields.js';
import { PoolCard, isCancellable } from './pool-card.js';
import type { KnownRounds } from './rounds.js';
import { type Calls, isVault } from './session.js';
import type { Tokens } from './tokens.js';

export const TYPES: Record<PoolType, { name: string; text: string; sign: string }> = {
  individual: { name: 'Personal', text: 'Only for you', sign: '◉' },
  cooperative: { name: 'Cooperative', text: 'Together with others', sign: '❖' },
  rotating: { name: 'Rotating', text: 'A circle: all pay in, one of you gets it all, in turns', sign: '⟳' },
  lottery: { name: 'Lottery', text: 'In the contract of the lottery; tickets are bought apart', sign: '★' },
};

export interface PoolActions {
  /** Pays what is pending. */
  pay: (pool: PoolItem, deposit: { depositId: string; amount: bigint }) => void;
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
  callsOf,
  isAccount,
  rounds,
  tokens,
  paying,
  address,
  actions,
  circles,
  opening,
  open,
  onNew,
}: {
  pools: readonly PoolItem[];
  positions: ReadonlyMap<string, Position>;
  /** The calls that the service builds for a pool. */
  callsOf: (pool: PoolItem) => Calls;
  /** Whether the contract knows the pool as its owner's account, so that its calls are for the owner alone. */
  isAccount: (pool: PoolItem) => boolean;
  rounds: KnownRounds;
  tokens: Tokens;
  /** Pools into which a payment of this browser is under way, with a function that shows it. */
  paying: ReadonlyMap<string, () => void>;
  address: string;
  actions: PoolActions;
  circles: CircleActions;
  /** The pool whose circle is to be opened. */
  opening: string | undefined;
  open: (pool: string | undefined) => void;
  onNew: () => void;
}) {
  const [asking, ask] = useState<Asking>();
  const most = (pool: PoolItem): bigint => {
    const { balance = '0', claimable = '0' } = positions.get(pool.id) ?? {};
    return BigInt(balance) + (isVault(callsOf(pool)) ? BigInt(claimable ?? 0) : 0n);
  };
  const tokenOf = ({ contractAddress }: PoolItem) => tokens.ofContract(contractAddress);
  const close = (): void => ask(undefined);
  return (
    <section aria-labelledby="pools">
      <div class="section-head">
        <h2 id="pools">Your pools</h2>
        <Button kind="main" text="New pool" onClick={onNew} />
      </div>
      {pools.length === 0 && (
        <div class="card empty">
          <p>No pools yet. Create one, pay in, and watch it arrive.</p>
        </div>
      )}
      <ul class="pools">
        {pools.map((pool) => {
          const { id } = pool;
          const common = { key: id, pool, token: tokenOf(pool), address, position: positions.get(id) };
          const shared = { ...common, showPayment: paying.get(id) };
          const calls = callsOf(pool);
          return calls.includes('open') ? (
            <CircleCard
              {...shared}
              rounds={rounds.get(id)}
              actions={circles}
              onOpen={() => open(id)}
              onCancelPool={isCancellable(pool, address) ? () => ask({ pool, what: 'cancel' }) : undefined}
            />
          ) : (
            <PoolCard
              {...shared}
              calls={calls}
              isAccount={isAccount(pool)}
              actions={actions}
              ask={(what) => ask({ pool, what })}
            />
          );
        })}
      </ul>
      {opening !== undefined && (
        <OpenCircleDialog
          pool={opening}
          tokens={tokens}
          isLocal={circles.local !== undefined}
          onClose={() => open(undefined)}
          onOpen={(terms) => circles.open(opening, terms)}
        />
      )}
      {asking?.what === 'deposit' && (
        <AmountDialog
          title="Deposit"
          says="You pay"
          token={tokenOf(asking.pool)}
          most={tokens.inWallet(tokenOf(asking.pool))}
          onClose={close}
          onAmount={(amount) => actions.deposit(asking.pool, amount)}
        />
      )}
      {asking?.what === 'withdraw' && (
        <AmountDialog
          title="Withdraw"
          says="You take out"
          token={tokenOf(asking.pool)}
          most={most(asking.pool)}
          onClose={close}
          onAmount={(amount) => {
            actions.withdraw(asking.pool, amount);
            return Promise.resolve(undefined);
          }}
        />
      )}
      {asking?.what === 'cancel' && (
        <Confirm
          title="Cancel this pool?"
          says="Nothing was paid into it. It will be gone for its members, too."
          text="Cancel the pool"
          onClose={close}
          onSure={() => actions.cancel(asking.pool)}
        />
      )}
    </section>
  );
}
