import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Button, Dialog, Submit } from './parts.js';
import type { Problem } from './errors.js';
import { type Token, exactText, exactWithSymbol, readAmount, withSymbol } from './format.js';

/**
 * What is wrong with the fields of a form, by field; the first of them gets the focus.
 * @param later what turned out to be wrong after a moment
 */
export function useWrong<Field extends string>(
  later?: string,
): {
  form: RefObject<HTMLFormElement>;
  wrong: Partial<Record<Field, string>>;
  /** @returns whether nothing is wrong */
  check: (found: Partial<Record<Field, string | undefined>>) => boolean;
} {
  const form = useRef<HTMLFormElement>(null);
  const [wrong, setWrong] = useState<Partial<Record<Field, string>>>({});
  useEffect(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(), [wrong, later]);
  const check = (found: Partial<Record<Field, string | undefined>>): boolean => {
    setWrong(found);
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
          {says} {exactWithSymbol(read.units, token)}
          {read.alternative !== undefined && `, not ${exactText(read.alternative, token)}`}
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

/**
 * A form that takes a moment: what is wrong with an amount stands at its field, anything else below.
 * @param onDone when nothing was wrong
 */
export function useSubmit(onDone: () => void): {
  busy: boolean;
  problem: Problem | undefined;
  amountWrong: string | undefined;
  submit: (work: () => Promise<Problem | undefined>) => void;
} {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const isOpen = useRef(true);
  useEffect(() => () => void (isOpen.current = false), []);
  const submit = (work: () => Promise<Problem | undefined>): void => {
    if (busy) return;
    setBusy(true);
    setProblem(undefined);
    void work().then((met) => {
      if (!isOpen.current) return;
      setBusy(false);
      setProblem(met);
      if (!met) onDone();
    });
  };
  const isOfAmount = problem !== undefined && OF_AMOUNT.has(problem.code);
  return {
    busy,
    problem: isOfAmount ? undefined : problem,
    amountWrong: isOfAmount ? problem.text : undefined,
    submit,
  };
}

const OF_AMOUNT = new Set(['insufficient_tokens', 'deposit_below_minimum', 'below_minimum']);

/** Asks for an amount, and says how it is understood before anything is sent. */
export function AmountDialog({
  title,
  says,
  token,
  most,
  onClose,
  onAmount,
}: {
  title: string;
  says: string;
  token: Token;
  most: bigint | null;
  onClose: () => void;
  /** Resolves to what is wrong with the amount. */
  onAmount: (amount: bigint) => Promise<Problem | undefined>;
}) {
  const [text, setText] = useState('');
  const { busy, problem, amountWrong, submit } = useSubmit(onClose);
  const { form, wrong, check } = useWrong<'amount'>(amountWrong);
  const send = (event: JSX.TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const read = readAmount(text, token);
    const amount = 'wrong' in read ? read.wrong : tooMuch(read.units, most, token);
    if (check({ amount }) && 'units' in read) submit(() => onAmount(read.units));
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form ref={form} onSubmit={send} noValidate>
        <AmountField
          label="Amount"
          says={says}
          token={token}
          text={text}
          setText={setText}
          wrong={wrong.amount ?? amountWrong}
        >
          {most !== null && (
            <span>
              At most {withSymbol(most, token)}{' '}
              <Button kind="link" text="Use all" onClick={() => setText(exactText(most, token))} />
            </span>
          )}
        </AmountField>
        <Submit text={title} busy={busy} problem={problem} />
      </form>
    </Dialog>
  );
}

/** Says so before a wallet is asked that would refuse. */
export const tooMuch = (amount: bigint, most: bigint | null, token: Token): string | undefined =>
  most !== null && amount > most ? `At most ${withSymbol(most, token)}` : undefined;
