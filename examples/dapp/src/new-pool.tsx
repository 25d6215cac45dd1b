import type { NewPool, PoolType } from '@pooled-savings/client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { isAddress } from 'viem';
import { Dialog } from './dialog.js';
import { AmountField, Field, useWrong } from './fields.js';
import { type Token, exactText, readAmount, shortAddress } from './format.js';
import { TYPES } from './pools.js';

const SHORT_ENOUGH = 14;

/** Asks for everything about a new pool; `check` says what is wrong with its first deposit. */
export function NewPoolDialog({
  token,
  suggested,
  check,
  onClose,
  onCreate,
}: {
  token: Token;
  suggested: bigint;
  check: (type: PoolType, amount: bigint) => string | undefined;
  onClose: () => void;
  onCreate: (pool: NewPool) => void;
}) {
  const [type, setType] = useState<PoolType>('individual');
  const [text, setText] = useState(() => exactText(suggested, token));
  const [members, setMembers] = useState('');
  const [autoCompound, setAutoCompound] = useState(false);
  const { form, wrong, check: checkFields } = useWrong<'amount' | 'members'>();
  const submit = (event: JSX.TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const read = readAmount(text, token);
    const named = type === 'individual' ? [] : members.split(/[\s,;]+/).filter(Boolean);
    const strange = named.find((each) => !isAddress(each, { strict: false }));
    const fine = checkFields({
      amount: 'units' in read ? check(type, read.units) : read.wrong,
      members: strange && `${strange.length > SHORT_ENOUGH ? shortAddress(strange) : strange} is not an address`,
    });
    if (fine && 'units' in read)
      onCreate({ type, initialDeposit: read.units.toString(), autoCompound, members: named });
  };
  return (
    <Dialog title="New pool" onClose={onClose}>
      <form ref={form} onSubmit={submit} noValidate>
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
        <AmountField
          label="First deposit"
          says="You pay"
          token={token}
          text={text}
          setText={setText}
          wrong={wrong.amount}
        />
        {type !== 'individual' && (
          <Field label="Members, one address a line" wrong={wrong.members}>
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
        <label class="check">
          <input
            type="checkbox"
            checked={autoCompound}
            onChange={(event) => setAutoCompound(event.currentTarget.checked)}
          />
          <span>
            Yield is meant to stay in the pool
            <small>A note for now: no contract pays it in by itself.</small>
          </span>
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
