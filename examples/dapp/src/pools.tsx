import type { PoolItem, PoolType, Position } from '@pooled-savings/client';
import { useState } from 'preact/hooks';
import { CircleCard } from './circle-card.js';
import type { Problem } from './errors.js';
import { AmountDialog } from './forms.js';
import { type Token, amountText, countText, dateText, shortAddress, withSymbol } from './format.js';
import { usePage } from './page.js';
import { Button, type Chip, ChipText, Facts, SureButton } from './parts.js';
import { type Calls, callsAt, client, isVault } from './session.js';

export const TYPES: Record<PoolType, { name: string; text: string; sign: string }> = {
  individual: { name: 'Personal', text: 'Only for you', sign: '◉' },
  cooperative: { name: 'Cooperative', text: 'Together with others', sign: '❖' },
  rotating: { name: 'Rotating', text: 'A circle: all pay in, one of you gets it all, in turns', sign: '⟳' },
  lottery: { name: 'Lottery', text: 'In the contract of the lottery; tickets are bought apart', sign: '★' },
};

export function Pools({ onNew }: { onNew: () => void }) {
  const { config, data } = usePage();
  const pools = data.pools.data;
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
        {pools.map((pool) =>
          callsAt(config, pool.contractAddress).includes('open') ? (
            <CircleCard key={pool.id} pool={pool} />
          ) : (
            <PoolCard key={pool.id} pool={pool} />
          ),
        )}
      </ul>
    </section>
  );
}

export const PoolHead = ({ pool, chip }: { pool: PoolItem; chip: Chip }) => (
  <div class="pool-head">
    <span class={`sign ${pool.type}`} aria-hidden="true">
      {TYPES[pool.type].sign}
    </span>
    <h3>
      {TYPES[pool.type].name} <span class="muted">#{pool.id.slice(-4)}</span>
    </h3>
    <ChipText chip={chip} />
  </div>
);

/** Removes a pool that was never paid. Only its owner owes a deposit to such a pool. */
export function CancelButton({ pool: { id, recentTransactions } }: { pool: PoolItem }) {
  const { session, work, untilSeen } = usePage();
  const isUnpaid = recentTransactions.every(({ status }) => status !== 'CONFIRMED');
  if (!isUnpaid || !recentTransactions.some(({ from }) => from === session.address)) return null;
  const cancel = async (): Promise<string> => {
    await client.api.DELETE('/pools/{id}', { params: { path: { id } } });
    await untilSeen(({ pools }) => pools.data.every((each) => each.id !== id));
    return 'The pool is gone.';
  };
  return (
    <SureButton
      text="Cancel the pool"
      title="Cancel this pool?"
      says="Nothing was paid into it. It will be gone for its members, too."
      onSure={() => work('Cancel the pool', cancel)}
    />
  );
}

/** A pool into which its savers pay what they like. */
function PoolCard({ pool }: { pool: PoolItem }) {
  const { session, config, data, tokens, paying } = usePage();
  const { id, contractAddress, recentTransactions } = pool;
  const { address } = session;
  const token = tokens.ofContract(contractAddress);
  const calls = callsAt(config, contractAddress);
  const position = data.positions.data.find(({ poolId }) => poolId === id);
  const payment = paying.of(id);
  const pending = recentTransactions.find(({ type, status }) => type === 'DEPOSIT' && status === 'PENDING');
  const isMine = ({ from }: { from: string }): boolean => from === address;
  // An account's transactions are those of its owner; the first is announced with the pool.
  const isOthers = config.contractsByAccount.includes(contractAddress) && !recentTransactions.some(isMine);
  const paid = BigInt(pool.balance) - BigInt(pool.pendingBalance);

  const deposits = recentTransactions.filter(({ type }) => type === 'DEPOSIT');
  const isPaid = deposits.some(({ status }) => status === 'CONFIRMED') || pool.balance !== '0';
  const chipOf = (): Chip => {
    if (pending?.submitted) return ['Paid, not confirmed yet', 'warn'];
    if (payment) return ['Payment under way', 'warn'];
    if (pending) return [isMine(pending) ? 'Waiting for payment' : 'Waiting for its owner', 'warn'];
    if (isPaid) return ['Confirmed', 'good'];
    return [deposits.length > 0 ? 'Expired, not paid' : 'Nothing paid yet', ''];
  };
  return (
    <li class="card pool" data-pool={id}>
      <PoolHead pool={pool} chip={chipOf()} />
      <p class="figure">
        {amountText(paid, token)} <small>{token.symbol}</small>
      </p>
      <p class="muted">
        {pending?.submitted ? (
          `${withSymbol(pending.amount, token)} sent ${dateText(pending.submitted.at)}`
        ) : (
          <>
            {countText(pool.members + 1, 'saver')} · APR {pool.apr.toLocaleString()} %
            {pool.autoCompound && ' · its owner compounds'}
            {position?.compounding && ' · your yield is paid in again'}
          </>
        )}
      </p>
      <dl>
        <Facts
          facts={[
            ['You hold', orUnknown(position?.balance, token), 'held'],
            ['Earned', orUnknown(position?.earned, token), 'earned'],
            ['To claim', orUnknown(position?.claimable, token), 'claimable'],
          ]}
        />
      </dl>
      {isOthers ? (
        <p class="hint">The money in this pool belongs to its owner, who alone can deposit and withdraw.</p>
      ) : (
        !calls.includes('deposit') && (
          <p class="hint">
            Its contract <code title={contractAddress}>{shortAddress(contractAddress)}</code> has calls of its
            own, which this page does not know. Pay in and take out there; here you see what comes of it.
          </p>
        )
      )}
      <div class="actions">
        {payment ? (
          <Button text="Show the payment" onClick={() => paying.show(payment.id)} />
        ) : (
          <PoolButtons {...{ pool, position, token, calls, isOthers, paid }} pending={pending} />
        )}
      </div>
    </li>
  );
}

/** Null: nobody knows it before it is claimed. */
const orUnknown = (units: string | null | undefined, token: Token): string =>
  units === null ? '–' : amountText(units ?? '0', token);

function PoolButtons(props: {
  pool: PoolItem;
  position: Position | undefined;
  token: Token;
  calls: Calls;
  isOthers: boolean;
  paid: bigint;
  pending: PoolItem['recentTransactions'][number] | undefined;
}) {
  const { pool, position, token, calls, isOthers, paid, pending } = props;
  const { id, contractAddress: contract } = pool;
  const { session, config, tokens, pay, check, work, untilSeen } = usePage();
  const { local } = config;
  const [asked, ask] = useState<'deposit' | 'withdraw'>();
  const can = (call: Calls[number]): boolean => calls.includes(call);
  const held = BigInt(position?.balance ?? 0);
  const claimable = BigInt(position?.claimable ?? 0);
  // At contracts of others nobody knows what can be claimed before it is.
  const isOurs = can('compounding');
  const mayPay = can('deposit') && !isOthers;
  const deposit = async (amount: bigint): Promise<Problem | undefined> => {
    const problem = await check({ amount, contract });
    if (!problem) pay({ kind: 'deposit', pool: id, amount });
    return problem;
  };
  const withdraw = (amount: bigint): Promise<undefined> => {
    pay({ kind: 'withdraw', pool: id, amount });
    return Promise.resolve(undefined);
  };
  const compound = (enabled: boolean): void =>
    pay({ kind: enabled ? 'startCompounding' : 'stopCompounding', pool: id }, async () => {
      // What the wallet has said holds for its yield alone; of the pool its owner says it too.
      const { owner } = await client.pools.get(id);
      if (owner.address === session.address) await client.pools.update(id, { autoCompound: enabled });
    });
  const accrue = async (): Promise<string> => {
    await local!.accrue(pool);
    await untilSeen(({ pools }) =>
      pools.data.some((each) => each.id === id && each.totalYield !== pool.totalYield),
    );
    return 'The pool has earned 5 %.';
  };
  return (
    <>
      {pending && !pending.submitted && pending.from === session.address && mayPay && (
        <Button
          kind="main"
          text={`Pay ${withSymbol(pending.amount, token)}`}
          onClick={() =>
            pay({ kind: 'deposit', pool: id, depositId: pending.id, amount: BigInt(pending.amount) })
          }
        />
      )}
      {!pending && mayPay && <Button text="Deposit" onClick={() => ask('deposit')} />}
      {can('withdraw') && held > 0n && <Button text="Withdraw" onClick={() => ask('withdraw')} />}
      {can('claim') && (claimable > 0n || (!isOurs && held > 0n)) && (
        <Button kind="main" text="Claim" onClick={() => pay({ kind: 'claimYield', pool: id })} />
      )}
      {isOurs && position && (
        <Button
          text={position.compounding ? 'Stop compounding' : 'Compound yield'}
          onClick={() => compound(!position.compounding)}
        />
      )}
      {!pending?.submitted && <CancelButton pool={pool} />}
      {local && (isOurs || isVault(calls)) && paid > 0n && (
        <Button kind="local" text="Add 5 % yield" onClick={() => work('Add yield', accrue)} />
      )}
      {asked === 'deposit' && (
        <AmountDialog
          title="Deposit"
          says="You pay"
          token={token}
          most={tokens.inWallet(token)}
          onClose={() => ask(undefined)}
          onAmount={deposit}
        />
      )}
      {asked === 'withdraw' && (
        <AmountDialog
          title="Withdraw"
          says="You take out"
          token={token}
          most={held + (isVault(calls) ? claimable : 0n)}
          onClose={() => ask(undefined)}
          onAmount={withdraw}
        />
      )}
    </>
  );
}
