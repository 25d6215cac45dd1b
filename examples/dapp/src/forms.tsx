import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { isAddress } from 'viem';
import type { Problem } from './errors.js';
import { type Token, exactText, readAmount, shortAddress, withSymbol } from './format.js';
import { Button, Dialog, ProblemText } from './parts.js';

/** What is wrong with a form, by field. */
export type Wrong = Readonly<Record<string, string | undefined>>;

/** Problems that stand at the field `amount`; others stand below the form. */
const OF_AMOUNT = new Set(['insufficient_tokens', 'deposit_below_minimum', 'below_minimum']);

/**
 * A dialog with a form, which closes once nothing was wrong. The first field that is wrong gets the focus.
 * @param send resolves to what was found wrong in a moment, such as by a look into the wallet
 */
export function FormDialog(props: {
  title: string;
  text: string;
  onClose: () => void;
  check: () => Wrong;
  send: () => Promise<Problem | undefined>;
  children: (wrong: Wrong) => ComponentChildren;
}) {
  const { title, text, onClose, check, send, children } = props;
  const form = useRef<HTMLFormElement>(null);
  const [wrong, setWrong] = useState<Wrong>({});
  const [problem, setProblem] = useState<Problem>();
  const [busy, setBusy] = useState(false);
  useEffect(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(), [wrong]);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (busy) return;
    const found = check();
    setWrong(found);
    setProblem(undefined);
    if (Object.values(found).some((each) => each !== undefined)) return;
    setBusy(true);
    const met = await send();
    // The user may have closed it meanwhile.
    if (!form.current) return;
    setBusy(false);
    if (!met) onClose();
    else if (OF_AMOUNT.has(met.code)) setWrong({ amount: met.text });
    else setProblem(met);
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form ref={form} onSubmit={(event) => void submit(event)} noValidate>
        {children(wrong)}
        {problem && <ProblemText problem={problem} />}
        <div class="actions">
          <button type="submit" class="main" disabled={busy}>
            {busy ? 'Looking at your wallet…' : text}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** What ties a field to the texts about it, for people who hear the page. */
type Description = Pick<JSX.HTMLAttributes, 'id' | 'aria-invalid' | 'aria-describedby'>;

/** A field with its label, a hint, and what is wrong with it. */
function Field(props: {
  label: string;
  hint?: ComponentChildren;
  wrong?: string;
  children: (description: Description) => JSX.Element;
}) {
  const { label, hint, wrong, children } = props;
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

interface FieldProps<Value> {
  label: string;
  value: Value;
  onValue: (value: Value) => void;
  wrong?: string;
  hint?: ComponentChildren;
}

/** An amount as people write it, and below it how it is understood. */
export function AmountField(props: FieldProps<string> & { says: string; token: Token }) {
  const { label, says, token, value, onValue, wrong, hint } = props;
  const { units, alternative } = { alternative: undefined, ...readAmount(value, token) };
  const understood = units !== undefined && (
    <strong data-field="says">
      {says} {exactText(units, token)} {token.symbol}
      {alternative !== undefined && `, not ${exactText(alternative, token)}`}
    </strong>
  );
  return (
    <Field label={label} wrong={wrong} hint={[understood, hint]}>
      {(description) => (
        <span class="with-unit">
          <input
            {...description}
            inputMode="decimal"
            autoComplete="off"
            value={value}
            onInput={(event) => onValue(event.currentTarget.value)}
          />
          <span>{token.symbol}</span>
        </span>
      )}
    </Field>
  );
}

/** Addresses, one a line. */
export const AddressesField = ({ label, value, onValue, wrong, hint }: FieldProps<string>) => (
  <Field label={label} wrong={wrong} hint={hint}>
    {(description) => (
      <textarea
        {...description}
        rows={Math.min(8, 2 * Math.max(1, addressesOf(value).length))}
        placeholder="0x…"
        value={value}
        spellcheck={false}
        onInput={(event) => onValue(event.currentTarget.value)}
      />
    )}
  </Field>
);

export const addressesOf = (text: string): string[] => text.split(/[\s,;]+/).filter(Boolean);

const SHORT_ENOUGH = 14;

/** What is wrong with one of the addresses. */
export function wrongAddress(addresses: readonly string[]): string | undefined {
  const wrong = addresses.find((each) => !isAddress(each, { strict: false }));
  return wrong && `${wrong.length > SHORT_ENOUGH ? shortAddress(wrong) : wrong} is not an address`;
}

export const ChoiceField = <Value extends string | number>(
  props: FieldProps<Value> & { options: readonly (readonly [value: Value, text: string])[] },
) => (
  <Field label={props.label}>
    {(description) => (
      <select
        {...description}
        value={props.value}
        onChange={(event) => props.onValue(props.options[event.currentTarget.selectedIndex][0])}
      >
        {props.options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    )}
  </Field>
);

/** Asks for an amount, and shows how it is understood before anything is sent. */
export function AmountDialog(props: {
  title: string;
  says: string;
  token: Token;
  most: bigint | null;
  onClose: () => void;
  /** Resolves to what is wrong with the amount. */
  onAmount: (amount: bigint) => Promise<Problem | undefined>;
}) {
  const { title, says, token, most, onClose, onAmount } = props;
  const [text, setText] = useState('');
  const { units, wrong } = readAmount(text, token);
  return (
    <FormDialog
      title={title}
      text={title}
      onClose={onClose}
      check={() => ({ amount: wrong ?? tooMuch(units, most, token) })}
      send={() => onAmount(units!)}
    >
      {(found) => (
        <AmountField
          label="Amount"
          says={says}
          token={token}
          value={text}
          onValue={setText}
          wrong={found.amount}
          hint={
            most !== null && (
              <span>
                At most {withSymbol(most, token)}{' '}
                <Button kind="link" text="Use all" onClick={() => setText(exactText(most, token))} />
              </span>
            )
          }
        />
      )}
    </FormDialog>
  );
}

/** Shown before a wallet is asked that would refuse. */
export const tooMuch = (amount: bigint, most: bigint | null, token: Token): string | undefined =>
  most !== null && amount > most ? `At most ${withSymbol(most, token)}` : undefined;
