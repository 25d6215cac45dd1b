import type { NewPool, PoolType } from '@pooled-savings/client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { isAddress } from 'viem';
import { Button, Dialog, Submit } from './parts.js';
import type { Problem } from './errors.js';
import { AmountField, Field, tooMuch, useSubmit, useWrong } from './fields.js';
import { readAmount, shortAddress } from './format.js';
import { TYPES } from './pools.js';
import { type ReadyConfig, callsAt, isVault } from './session.js';
import type { Tokens } from './tokens.js';

const SHORT_ENOUGH = 14;

/** Asks for everything about a new pool. */
export function NewPoolDialog({
  tokens,
  config,
  testSavers,
  onClose,
  onCreate,
}: {
  tokens: Tokens;
  config: ReadyConfig;
  /** Whom one can share a circle with, on the local chain. */
  testSavers: readonly string[] | undefined;
  onClose: () => void;
  /** Resolves to what is wrong; then there is no pool. */
  onCreate: (pool: NewPool) => Promise<Problem | undefined>;
}) {
  const offered = (Object.keys(TYPES) as PoolType[]).filter(
    (each) => config.contracts[each] !== null || config.furtherContracts[each].length > 0,
  );
  const [type, setType] = useState<PoolType>(offered[0] ?? 'individual');
  const [text, setText] = useState('25');
  const [members, setMembers] = useState('');
  const [autoCompound, setAutoCompound] = useState(false);
  const [asked, ask] = useState<string>();
  const further = config.furtherContracts[type];
  const usual = config.contracts[type];
  const contract = further.find((each) => each === asked) ?? (usual === null ? further[0] : undefined);
  const place = contract ?? usual ?? '';
  const calls = callsAt(config, place);
  const token = tokens.ofContract(place);
  const most = tokens.inWallet(token);
  const isCircle = calls.includes('open');
  const { busy, problem, amountWrong, submit } = useSubmit(onClose);
  const { form, wrong, check } = useWrong<'amount' | 'members'>(amountWrong);
  const send = (event: JSX.TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const read = readAmount(text, token);
    const named = type === 'individual' ? [] : members.split(/[\s,;]+/).filter(Boolean);
    const strange = named.find((each) => !isAddress(each, { strict: false }));
    const fine = check({
      amount:
        'wrong' in read
          ? read.wrong
          : calls.includes('deposit')
            ? tooMuch(read.units, most, token)
            : undefined,
      members:
        strange && `${strange.length > SHORT_ENOUGH ? shortAddress(strange) : strange} is not an address`,
    });
    if (!fine || 'wrong' in read) return;
    const initialDeposit = read.units.toString();
    submit(() =>
      onCreate({
        type,
        initialDeposit,
        autoCompound: autoCompound && calls.includes('compounding'),
        members: named,
        ...(contract !== undefined && { contract }),
      }),
    );
  };
  return (
    <Dialog title="New pool" onClose={onClose}>
      <form ref={form} onSubmit={send} noValidate>
        <fieldset class="types">
          <legend>Type</legend>
          {offered
            .map((value) => [value, TYPES[value]] as const)
            .map(([value, { name, text: what, sign }]) => (
              <label key={value}>
                <input type="radio" name="type" checked={value === type} onChange={() => setType(value)} />
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
        <AmountField
          label={isCircle ? 'Each pays in a round' : 'First deposit'}
          says={isCircle ? 'Each pays' : 'You pay'}
          token={token}
          text={text}
          setText={setText}
          wrong={wrong.amount ?? amountWrong}
        />
        {further.length > 0 && (
          <Field label="Where" wrong={undefined}>
            {(description) => (
              <select
                {...description}
                value={contract ?? ''}
                onChange={(event) => ask(event.currentTarget.value)}
              >
                {usual !== null && <option value="">In the contract of the service</option>}
                {further.map((address) => (
                  <option key={address} value={address}>
                    {isVault(callsAt(config, address)) ? 'In the vault' : 'At'} {shortAddress(address)},{' '}
                    {tokens.ofContract(address).symbol}
                  </option>
                ))}
              </select>
            )}
          </Field>
        )}
        {type !== 'individual' && (
          <Field
            label="Members, one address a line"
            wrong={wrong.members}
            hint={
              isCircle &&
              testSavers && (
                <Button
                  kind="link local"
                  text="Two test savers"
                  onClick={() => setMembers(testSavers.join('\n'))}
                />
              )
            }
          >
            {(description) => (
              <textarea
                {...description}
                rows={2}
                placeholder="0x…"
                value={members}
                spellcheck={false}
                onInput={(event) => setMembers(event.currentTarget.value)}
              />
            )}
          </Field>
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
        <Submit
          text={calls.includes('deposit') ? 'Create and pay' : 'Create the pool'}
          busy={busy}
          problem={problem}
        />
      </form>
    </Dialog>
  );
}
