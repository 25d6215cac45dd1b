import type { NewPool, PoolItem, PoolType, Position } from '@pooled-savings/client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { isAddress } from 'viem';
import { Dialog } from './dialog.js';
import { type Token, amountText, exactText, parseAmount, shortAddress, withSymbol } from './format.js';

export const TYPES: Record<PoolType, { name: string; text: string; sign: string }> = {
  individual: { name: 'Personal', text: 'Only for you', sign: '◉' },
  cooperative: { name: 'Cooperative', text: 'Together with others', sign: '❖' },
  rotating: { name: 'Rotating', text: 'Together; whose turn it is, you agree among you', sign: '⟳' },
  lottery: { name: 'Lottery', text: 'In the contract of the lottery; tickets are bought apart', sign: '★' },
};

export interface PoolActions {
  pay: (pool: PoolItem, deposit: { transaction: string; amount: bigint } | { amount: bigint }) => void;
  withdraw: (pool: PoolItem, amount: bigint) => void;
  claim: (pool: PoolItem, amount: bigint) => void;
  /** Only on the local chain. */
  accrue?: (pool: PoolItem) => void;
}

type Asking = { pool: PoolItem; what: 'deposit' | 'withdraw' } | undefined;

export function Pools({
  pools,
  positions,
  token,
  inWallet,
  actions,
  onNew,
}: {
  pools: readonly PoolItem[];
  positions: ReadonlyMap<string, Position>;
  token: Token;
  inWallet: bigint | null;
  actions: PoolActions;
  onNew: () => void;
}) {
  const [asking, ask] = useState<Asking>();
  const position = asking && positions.get(asking.pool.id);
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
            actions={actions}
            ask={(what) => ask({ pool, what })}
          />
        ))}
      </ul>
      {asking && (
        <AmountDialog
          title={asking.what === 'deposit' ? 'Deposit' : 'Withdraw'}
          token={token}
          most={asking.what === 'deposit' ? inWallet : BigInt(position?.balance ?? 0)}
          onClose={() => ask(undefined)}
          onAmount={(amount) => {
            ask(undefined);
            if (asking.what === 'deposit') actions.pay(asking.pool, { amount });
            else actions.withdraw(asking.pool, amount);
          }}
        />
      )}
    </section>
  );
}

function PoolCard({
  pool,
  position,
  token,
  actions,
  ask,
}: {
  pool: PoolItem;
  position: Position | undefined;
  token: Token;
  actions: PoolActions;
  ask: (what: 'deposit' | 'withdraw') => void;
}) {
  const { name, sign } = TYPES[pool.type];
  const pending = pool.recentTransactions.find(
    ({ type, status }) => type === 'DEPOSIT' && status === 'PENDING',
  );
  const paid = BigInt(pool.balance) - BigInt(pool.pendingBalance);
  const held = BigInt(position?.balance ?? 0);
  const claimable = BigInt(position?.claimable ?? 0);
  return (
    <li class="card pool" data-pool={pool.id}>
      <div class="pool-head">
        <span class={`sign ${pool.type}`} aria-hidden="true">
          {sign}
        </span>
        <h3>
          {name} <span class="muted">#{pool.id.slice(-4)}</span>
        </h3>
        <StateOf pool={pool} pending={pending !== undefined} />
      </div>
      <p class="figure">
        {amountText(paid, token)} <small>{token.symbol}</small>
      </p>
      <p class="muted">
        {pool.members > 0 ? `${pool.members + 1} savers` : '1 saver'} · APR {pool.apr} %
        {pool.autoCompound && ' · marked as compounding'}
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
        {pending && (
          <button
            type="button"
            class="main"
            onClick={() => actions.pay(pool, { transaction: pending.id, amount: BigInt(pending.amount) })}
          >
            Pay {withSymbol(pending.amount, token)}
          </button>
        )}
        {!pending && (
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
          <button type="button" class="main" onClick={() => actions.claim(pool, claimable)}>
            Claim
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

/** What has become of its deposits: one that nobody paid is not confirmed. */
function StateOf({ pool, pending }: { pool: PoolItem; pending: boolean }) {
  if (pending) return <span class="chip warn">Waiting for payment</span>;
  const deposits = pool.recentTransactions.filter(({ type }) => type === 'DEPOSIT');
  if (deposits.some(({ status }) => status === 'CONFIRMED') || BigInt(pool.balance) > 0n)
    return <span class="chip good">Confirmed</span>;
  return <span class="chip">{deposits.length > 0 ? 'Expired, not paid' : 'Nothing paid yet'}</span>;
}

function AmountDialog({
  title,
  token,
  most,
  onClose,
  onAmount,
}: {
  title: string;
  token: Token;
  most: bigint | null;
  onClose: () => void;
  onAmount: (amount: bigint) => void;
}) {
  const [text, setText] = useState('');
  const [wrong, setWrong] = useState<string>();
  const submit = (event: JSX.TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const amount = parseAmount(text, token);
    if (amount === undefined) setWrong('Enter an amount, such as 12.5');
    else if (most !== null && amount > most) setWrong(`At most ${withSymbol(most, token)}`);
    else onAmount(amount);
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit} noValidate>
        <AmountField label="Amount" token={token} text={text} setText={setText} wrong={wrong} />
        {most !== null && (
          <p class="hint">
            At most {withSymbol(most, token)}{' '}
            <button type="button" class="link" onClick={() => setText(exactText(most, token))}>
              Use all
            </button>
          </p>
        )}
        <div class="actions">
          <button type="submit" class="main">
            {title}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function AmountField({
  label,
  token,
  text,
  setText,
  wrong,
}: {
  label: string;
  token: Token;
  text: string;
  setText: (text: string) => void;
  wrong: string | undefined;
}) {
  return (
    <label class="field">
      <span>{label}</span>
      <span class="with-unit">
        <input
          inputMode="decimal"
          autoComplete="off"
          value={text}
          aria-invalid={wrong !== undefined}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <span>{token.symbol}</span>
      </span>
      {wrong && (
        <span class="wrong" role="alert">
          {wrong}
        </span>
      )}
    </label>
  );
}

export function NewPoolDialog({
  token,
  minimum,
  onClose,
  onCreate,
}: {
  token: Token;
  minimum: string;
  onClose: () => void;
  onCreate: (pool: NewPool) => void;
}) {
  const [type, setType] = useState<PoolType>('individual');
  const [text, setText] = useState('25');
  const [members, setMembers] = useState('');
  const [autoCompound, setAutoCompound] = useState(false);
  const [wrong, setWrong] = useState<{ amount?: string; members?: string }>({});
  const submit = (event: JSX.TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const amount = parseAmount(text, token);
    const named = type === 'individual' ? [] : members.split(/[\s,;]+/).filter(Boolean);
    const strange = named.find((each) => !isAddress(each, { strict: false }));
    const found = {
      amount:
        amount === undefined
          ? 'Enter an amount, such as 25'
          : amount < BigInt(minimum)
            ? `At least ${withSymbol(minimum, token)}`
            : undefined,
      members: strange && `${strange.length > 14 ? shortAddress(strange) : strange} is not an address`,
    };
    setWrong(found);
    if (found.amount || found.members) return;
    onCreate({ type, initialDeposit: amount!.toString(), autoCompound, members: named });
  };
  return (
    <Dialog title="New pool" onClose={onClose}>
      <form onSubmit={submit} noValidate>
        <fieldset class="types">
          <legend>Type</legend>
          {Object.entries(TYPES).map(([value, { name, text: what, sign }]) => (
            <label key={value}>
              <input
                type="radio"
                name="type"
                checked={value === type}
                onChange={() => setType(value as PoolType)}
              />
              <span class={`sign ${value}`} aria-hidden="true">
                {sign}
              </span>
              <span>
                <strong>{name}</strong>
                <small>{what}</small>
              </span>
            </label>
          ))}
        </fieldset>
        <AmountField label="First deposit" token={token} text={text} setText={setText} wrong={wrong.amount} />
        {type !== 'individual' && (
          <label class="field">
            <span>Members, one address a line</span>
            <textarea
              rows={2}
              placeholder="0x…"
              value={members}
              spellcheck={false}
              onInput={(event) => setMembers(event.currentTarget.value)}
            />
            {wrong.members && (
              <span class="wrong" role="alert">
                {wrong.members}
              </span>
            )}
          </label>
        )}
        <label class="check">
          <input
            type="checkbox"
            checked={autoCompound}
            onChange={(event) => setAutoCompound(event.currentTarget.checked)}
          />
          <span>Mark as compounding. No contract pays yield in again: claim it, and deposit it</span>
        </label>
        <div class="actions">
          <button type="submit" class="main">
            Create and pay
          </button>
        </div>
      </form>
    </Dialog>
  );
}
