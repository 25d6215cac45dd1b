import type { NewPool, PoolDetail, PoolType } from '@pooled-savings/client';
import { useEffect, useState } from 'preact/hooks';
import { PERIODS } from './circle-texts.js';
import { chainNow } from './clock.js';
import { type Problem, problemOf } from './errors.js';
import {
  AddressesField,
  AmountField,
  ChoiceField,
  FormDialog,
  addressesOf,
  tooMuch,
  wrongAddress,
} from './forms.js';
import { type Token, exactText, readAmount, shortAddress, withSymbol } from './format.js';
import { usePage } from './page.js';
import { Button, Dialog, ProblemText } from './parts.js';
import { TYPES } from './pools.js';
import { callsAt, client, isVault } from './session.js';

const ATTEMPT_KEY = 'new-pool';
const ATTEMPT_MS = 600_000;

/**
 * The same form within ten minutes is the same attempt, which makes one pool, even if the page is loaded again before the
 * service has answered. After the answer, and in another tab, it is another attempt: equal pools can be made on purpose.
 */
function attemptOf(account: string, pool: NewPool): { idempotencyKey: string } {
  interface Attempt {
    form: string;
    at: number;
    idempotencyKey: string;
  }
  const form = JSON.stringify([account, pool]);
  const known = JSON.parse(sessionStorage.getItem(ATTEMPT_KEY) ?? 'null') as Attempt | null;
  if (known?.form === form && Date.now() - known.at < ATTEMPT_MS) return known;
  const attempt: Attempt = { form, at: Date.now(), idempotencyKey: crypto.randomUUID() };
  sessionStorage.setItem(ATTEMPT_KEY, JSON.stringify(attempt));
  return attempt;
}

/** Asks for everything about a new pool, creates it, and pays it or opens its circle. */
export function NewPoolDialog({ onClose }: { onClose: () => void }) {
  const { session, config, tokens, pay, check, openCircle } = usePage();
  const offered = (Object.keys(TYPES) as PoolType[]).filter(
    (each) => config.contracts[each] !== null || config.furtherContracts[each].length > 0,
  );
  const [type, setType] = useState<PoolType>(offered[0] ?? 'individual');
  const [text, setText] = useState('25');
  const [members, setMembers] = useState('');
  const [autoCompound, setAutoCompound] = useState(false);
  const [asked, ask] = useState('');

  const usual = config.contracts[type];
  const contracts = [...(usual === null ? [] : [usual]), ...config.furtherContracts[type]];
  const contract = contracts.find((each) => each === asked) ?? contracts[0] ?? '';
  const calls = callsAt(config, contract);
  const isCircle = calls.includes('open');
  const token = tokens.ofContract(contract);
  const { units, wrong } = readAmount(text, token);
  const named = type === 'individual' ? [] : addressesOf(members);
  const testSavers = isCircle && config.local?.saverAddresses;

  const create = async (): Promise<Problem | undefined> => {
    const amount = units!;
    const pool: NewPool = {
      ...{ type, initialDeposit: `${amount}`, members: named },
      autoCompound: autoCompound && calls.includes('compounding'),
      ...(contract !== usual && { contract }),
    };
    const problem = calls.includes('deposit') ? await check({ amount, contract, type }) : undefined;
    if (problem) return problem;
    try {
      const { id, depositId } = await client.pools.create(pool, attemptOf(session.address, pool));
      sessionStorage.removeItem(ATTEMPT_KEY);
      if (isCircle) openCircle(id);
      // Otherwise it is paid where this page cannot, and its card says so.
      else if (calls.includes('deposit')) pay({ kind: 'deposit', pool: id, depositId, amount });
      return undefined;
    } catch (error) {
      return problemOf(error, token);
    }
  };

  return (
    <FormDialog
      title="New pool"
      text={calls.includes('deposit') ? 'Create and pay' : 'Create the pool'}
      onClose={onClose}
      check={() => ({
        amount:
          wrong ?? (calls.includes('deposit') ? tooMuch(units, tokens.inWallet(token), token) : undefined),
        members: wrongAddress(named),
      })}
      send={create}
    >
      {(found) => (
        <>
          <fieldset class="types">
            <legend>Type</legend>
            {offered.map((value) => (
              <label key={value}>
                <input type="radio" name="type" checked={value === type} onChange={() => setType(value)} />
                <span class={`sign ${value}`} aria-hidden="true">
                  {TYPES[value].sign}
                </span>
                <span>
                  <strong>{TYPES[value].name}</strong>
                  <small>{TYPES[value].text}</small>
                </span>
              </label>
            ))}
          </fieldset>
          <AmountField
            label={isCircle ? 'Each pays in a round' : 'First deposit'}
            says={isCircle ? 'Each pays' : 'You pay'}
            token={token}
            value={text}
            onValue={setText}
            wrong={found.amount}
          />
          {config.furtherContracts[type].length > 0 && (
            <ChoiceField
              label="Where"
              value={contract}
              onValue={ask}
              options={contracts.map((each) => {
                const where = `${shortAddress(each)}, ${tokens.ofContract(each).symbol}`;
                const isOfService = each === usual;
                return [
                  each,
                  isOfService
                    ? 'In the contract of the service'
                    : `${isVault(callsAt(config, each)) ? 'In the vault' : 'At'} ${where}`,
                ] as const;
              })}
            />
          )}
          {type !== 'individual' && (
            <AddressesField
              label="Members, one address a line"
              value={members}
              onValue={setMembers}
              wrong={found.members}
              hint={
                testSavers && (
                  <Button
                    kind="link local"
                    text="Two test savers"
                    onClick={() => setMembers(testSavers.join('\n'))}
                  />
                )
              }
            />
          )}
          {calls.includes('compounding') && (
            <label class="check">
              <input
                type="checkbox"
                checked={autoCompound}
                onChange={(event) => setAutoCompound(event.currentTarget.checked)}
              />
              <span>
                Yield is to be paid in again
                <small>It begins once your wallet says so: press Compound yield when the pool is paid.</small>
              </span>
            </label>
          )}
        </>
      )}
    </FormDialog>
  );
}

const [LEAST_MEMBERS, MOST_MEMBERS] = [2, 32];
const [[HOUR], , [WEEK]] = PERIODS;

/** Asks for what the members of a circle agree on, for good. */
export function OpenCircleDialog({ pool, onClose }: { pool: string; onClose: () => void }) {
  const [detail, setDetail] = useState<PoolDetail>();
  const [problem, setProblem] = useState<Problem>();
  useEffect(() => {
    client.pools.get(pool).then(setDetail, (error: unknown) => setProblem(problemOf(error)));
  }, [pool]);
  if (detail) return <TermsDialog pool={detail} onClose={onClose} />;
  return (
    <Dialog title="Open the circle" onClose={onClose}>
      {problem && <ProblemText problem={problem} />}
    </Dialog>
  );
}

function TermsDialog({ pool, onClose }: { pool: PoolDetail; onClose: () => void }) {
  const { config, tokens, pay } = usePage();
  const token = tokens.ofContract(pool.contractAddress);
  // Who may see the pool.
  const known = [pool.owner.address, ...pool.memberAddresses];
  const announced = pool.transactions.find(({ status }) => status === 'PENDING')?.amount;
  const usual = announced ? exactText(announced, token) : '';
  // On the local chain nobody waits a week.
  const usualPeriod = config.local ? HOUR : WEEK;
  const [contribution, setContribution] = useState(usual);
  const [collateral, setCollateral] = useState(usual);
  const [period, setPeriod] = useState(usualPeriod);
  const [joining, setJoining] = useState(usualPeriod);
  const [order, setOrder] = useState(known.join('\n'));
  const members = addressesOf(order);
  const paid = readAmount(contribution, token);
  const isNone = /^\s*(0([.,]0*)?)?\s*$/.test(collateral);
  const locked = isNone ? { units: 0n } : readAmount(collateral, token);
  const open = (): Promise<undefined> => {
    const joinBy = new Date(chainNow() + joining * 1000).toISOString();
    const terms = { contribution: paid.units!, collateral: locked.units!, period, joinBy, members };
    pay({ kind: 'openCircle', pool: pool.id, ...terms });
    return Promise.resolve(undefined);
  };
  return (
    <FormDialog
      title="Open the circle"
      text="Open the circle"
      onClose={onClose}
      check={() => ({
        amount: paid.wrong,
        collateral: 'wrong' in locked ? locked.wrong : undefined,
        members: wrongAddress(members) ?? wrongMembers(members, known),
      })}
      send={open}
    >
      {(found) => (
        <>
          <p class="hint">
            In each round everyone pays, and one of you gets all of it, until everyone had a turn. What you
            say here holds for good.
          </p>
          <AmountField
            label="Each pays in a round"
            says="Each pays"
            token={token}
            value={contribution}
            onValue={setContribution}
            wrong={found.amount}
          />
          <AmountField
            label="Each locks to join"
            says="Each locks"
            token={token}
            value={collateral}
            onValue={setCollateral}
            wrong={isNone ? undefined : found.collateral}
            hint={<span>{coverText(paid.units, locked.units, members.length, token)}</span>}
          />
          <ChoiceField label="A round takes at most" value={period} onValue={setPeriod} options={PERIODS} />
          <ChoiceField label="Time to join" value={joining} onValue={setJoining} options={PERIODS} />
          <AddressesField
            label="Members in the order of their turns, one address a line"
            value={order}
            onValue={setOrder}
            wrong={found.members}
          />
        </>
      )}
    </FormDialog>
  );
}

/** What the locked money is for. */
function coverText(
  paid: bigint | undefined,
  locked: bigint | undefined,
  members: number,
  token: Token,
): string {
  if (paid === undefined || locked === undefined) return '';
  const rounds = locked / paid;
  if (rounds >= BigInt(members)) return 'It pays for everyone who does not pay, in every round.';
  const covers =
    rounds === 0n
      ? 'It pays for nobody: a member who does not pay ends the circle.'
      : `It pays for ${rounds === 1n ? 'one round' : `${rounds} rounds`} that somebody does not pay; one more, and the circle ends.`;
  return `${covers} ${withSymbol(paid * BigInt(members), token)} would cover everything.`;
}

function wrongMembers(members: readonly string[], known: readonly string[]): string | undefined {
  const lower = members.map((each) => each.toLowerCase());
  const stranger = lower.find((each) => !known.includes(each));
  if (stranger) return `${shortAddress(stranger)} is no member of this pool, and would not see it`;
  if (new Set(lower).size < lower.length) return 'Someone is named twice';
  return members.length < LEAST_MEMBERS || members.length > MOST_MEMBERS
    ? `A circle has ${LEAST_MEMBERS} to ${MOST_MEMBERS} members`
    : undefined;
}
