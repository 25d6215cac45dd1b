import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Problem } from './errors.js';

/** The browser's modal dialog: it keeps the focus, closes with Escape, and returns the focus. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const { current } = dialog;
    current?.showModal();
    return () => current?.close();
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby="dialog-title" onClose={onClose}>
      <div class="dialog-head">
        <h2 id="dialog-title">{title}</h2>
        <button
          type="button"
          class="quiet"
          aria-label="Close the dialog"
          onClick={() => dialog.current?.close()}
        >
          ✕
        </button>
      </div>
      {children}
    </dialog>
  );
}

export const ProblemText = ({ problem }: { problem: Problem }) => (
  <p class="problem" role="alert">
    {problem.text} <code>{problem.code}</code>
  </p>
);

const SIGNS = { waiting: '', active: '', done: '✓', failed: '!' } as const;
const STATES = { waiting: 'to come', active: 'under way', done: 'done', failed: 'failed' } as const;

export interface ShownStep {
  label: string;
  state: keyof typeof SIGNS;
}

export const Steps = ({ steps }: { steps: readonly ShownStep[] }) => (
  <ol class="steps">
    {steps.map(({ label, state }) => (
      <li key={label} class={state}>
        <span class="sign" aria-hidden="true">
          {SIGNS[state]}
        </span>
        <span>{label}</span>
        <span class="unseen">{STATES[state]}</span>
      </li>
    ))}
  </ol>
);

/** @param kind its classes: "main" is what most people are about to do, "local" is offered on the local chain alone */
export const Button = ({ text, kind, onClick }: { text: string; kind?: string; onClick: () => void }) => (
  <button type="button" class={kind} onClick={onClick}>
    {text}
  </button>
);

/** The end of a form that looks at the wallet before it is done. */
export const Submit = ({ text, busy, problem }: { text: string; busy: boolean; problem?: Problem }) => (
  <>
    {problem && <ProblemText problem={problem} />}
    <div class="actions">
      <button type="submit" class="main" disabled={busy}>
        {busy ? 'Looking at your wallet…' : text}
      </button>
    </div>
  </>
);

/** Asks whether the user is sure. */
export function Confirm(props: {
  title: string;
  says: string;
  text: string;
  onClose: () => void;
  onSure: () => void;
}) {
  const { title, says, text, onClose, onSure } = props;
  const sure = (): void => {
    onClose();
    onSure();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{says}</p>
      <div class="actions">
        <Button kind="main" text={text} onClick={sure} />
        <Button text="Keep it" onClick={onClose} />
      </div>
    </Dialog>
  );
}

/** @param facts name and value, and by which field tests find the value */
export const Facts = ({ facts }: { facts: readonly (readonly [string, string, string?])[] }) =>
  facts.map(([name, value, field]) => (
    <div key={name}>
      <dt>{name}</dt>
      <dd data-field={field}>{value}</dd>
    </div>
  ));
