import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Dialog } from './dialog.js';
import { type Token, exactText, exactWithSymbol, readAmount, withSymbol } from './format.js';

/** What is wrong with the fields of a form, by field; the first of them gets the focus. */
export function useWrong<Field extends string>(): {
  form: RefObject<HTMLFormElement>;
  wrong: Partial<Record<Field, string>>;
  /** @returns whether nothing is wrong */
  check: (found: Partial<Record<Field, string | undefined>>) => boolean;
} {
  const form = useRef<HTMLFormElement>(null);
  const [wrong, setWrong] = useState<Partial<Record<Field, string>>>({});
  useEffect(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(), [wrong]);
  const check = (found: Partial<Record<Field, string | undefined>>): boolean => {
    setWrong(found as Partial<Record<Field, string>>);
    return Object.values(found).every((each) => each === undefined);
  };
  return { form, wrong, check };
}

/** What ties a field to the texts about it, for those who hear the page. */
interface Description {
  id: string;
  'aria-invalid': boolean;
  'aria-describedby': string;
}

/** A field with its label, a hint, and what is wrong with it. */
export function Field({
  label,
  hint,
  wrong,
  children,
}: {
  label: string;
  hint?: ComponentChildren;
  wrong: string | undefined;
  children: (description: Description) => JSX.Element;
}) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, 'aria-invalid': wrong !== undefined, 'aria-describedby': `${id}-hint ${id}-wrong` })}
      <p id={`${id}-wrong`} class="wrong" role="alert">
        {wrong}
      </p>
      <p id={`${id}-hint`} class="hint">
        {hint}
      </p>
    </div>
  );
}

/** An amount as people write it, and below it how it is understood. */
export function AmountField({
  label,
  says,
  token,
  text,
  setText,
  wrong,
  children,
}: {
  label: string;
  /** What happens to the amount, such as "You pay". */
  says: string;
  token: Token;
  text: string;
  setText: (text: string) => void;
  wrong: string | undefined;
  children?: ComponentChildren;
}) {
  const read = readAmount(text, token);
  const hint = (
    <>
      {'units' in read && (
        <strong data-field="says">
          {says} {exactText(read.units, token)} {token.symbol}
        </strong>
      )}
      {children}
    </>
  );
  return (
    <Field label={label} hint={hint} wrong={wrong}>
      {(description) => (
        <span class="with-unit">
          <input
            {...description}
            inputMode="decimal"
            autoComplete="off"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <span>{token.symbol}</span>
        </span>
      )}
    </Field>
  );
}

/** Asks for an amount, and says how it is understood before anything is sent. */
export function AmountDialog({
  title,
  says,
  token,
  check,
  most,
  onClose,
  onAmount,
}: {
  title: string;
  says: string;
  token: Token;
  most: bigint | null;
  /** What is wrong with an amount. */
  check: (amount: bigint) => string | undefined;
  onClose: () => void;
  onAmount: (amount: bigint) => void;
}) {
  const [text, setText] = useState('');
  const { form, wrong, check: checkFields } = useWrong<'amount'>();
  const submit = (event: JSX.TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const read = readAmount(text, token);
    if (checkFields({ amount: 'units' in read ? check(read.units) : read.wrong }) && 'units' in read)
      onAmount(read.units);
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form ref={form} onSubmit={submit} noValidate>
        <AmountField
          label="Amount"
          says={says}
          token={token}
          text={text}
          setText={setText}
          wrong={wrong.amount}
        >
          {most !== null && (
            <span>
              At most {withSymbol(most, token)}{' '}
              <button type="button" class="link" onClick={() => setText(exactText(most, token))}>
                Use all
              </button>
            </span>
          )}
        </AmountField>
        <div class="actions">
          <button type="submit" class="main">
            {title}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
