import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Problem, problemOf } from './errors.js';

/** The browser's modal dialog: it keeps the focus, closes with Escape, and returns the focus. */
export function Dialog(props: { title: string; onClose: () => void; children: ComponentChildren }) {
  const { title, onClose, children } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const isShown = useRef(true);
  useEffect(() => {
    const { current } = dialog;
    current?.showModal();
    return () => {
      // Its user has not closed it: something else is shown now.
      isShown.current = false;
      current?.close();
    };
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby="dialog-title" onClose={() => isShown.current && onClose()}>
      <div class="dialog-head">
        <h2 id="dialog-title">{title}</h2>
        <button class="quiet" aria-label="Close the dialog" onClick={() => dialog.current?.close()}>
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

/** @param kind its classes: "main" is what most people are about to do, "local" is offered on the local chain alone */
export const Button = ({ text, kind, onClick }: { text: string; kind?: string; onClick: () => void }) => (
  <button type="button" class={kind} onClick={onClick}>
    {text}
  </button>
);

/** A button that asks whether the user is sure. */
export function SureButton(props: { text: string; title: string; says: string; onSure: () => void }) {
  const { text, title, says, onSure } = props;
  const [isAsked, ask] = useState(false);
  const sure = (): void => {
    ask(false);
    onSure();
  };
  return (
    <>
      <Button text={text} onClick={() => ask(true)} />
      {isAsked && (
        <Dialog title={title} onClose={() => ask(false)}>
          <p>{says}</p>
          <div class="actions">
            <Button kind="main" text={text} onClick={sure} />
            <Button text="Keep it" onClick={() => ask(false)} />
          </div>
        </Dialog>
      )}
    </>
  );
}

/** The button that ends a dialog. It has the focus once there is something to read. */
export function EndButton({ ended, good, onClick }: { ended: boolean; good: boolean; onClick: () => void }) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => button.current?.focus(), [ended]);
  return (
    <button ref={button} type="button" class={good ? 'main' : ''} onClick={onClick}>
      {good ? 'Done' : ended ? 'Close' : 'Go on in the background'}
    </button>
  );
}

/** Work that is no payment. */
export interface Job {
  title: string;
  work: () => Promise<string>;
}

/** Does the work, and shows what came of it. Closed, it goes on in the background. */
export function JobDialog({ job: { title, work }, onClose }: { job: Job; onClose: () => void }) {
  const [{ result, problem }, end] = useState<{ result?: string; problem?: Problem }>({});
  useEffect(() => {
    work().then(
      (text) => end({ result: text }),
      (error: unknown) => end({ problem: problemOf(error) }),
    );
  }, []);
  const ended = result !== undefined || problem !== undefined;
  return (
    <Dialog title={title} onClose={onClose}>
      <div aria-live="polite" class="status">
        {!ended && <p class="loading">Under way…</p>}
        {problem && <ProblemText problem={problem} />}
        {result && <p class="result">{result}</p>}
      </div>
      <div class="actions">
        <EndButton ended={ended} good={result !== undefined} onClick={onClose} />
      </div>
    </Dialog>
  );
}

export type Chip = readonly [text: string, kind: 'good' | 'warn' | ''];
export const ChipText = ({ chip: [text, kind] }: { chip: Chip }) => (
  <span class={`chip ${kind}`}>{text}</span>
);

/** Names and values of a `<dl>`, and by which field tests find a value. */
export const Facts = ({ facts }: { facts: readonly (readonly [string, string, string?])[] }) =>
  facts.map(([name, value, field]) => (
    <div key={name}>
      <dt>{name}</dt>
      <dd data-field={field}>{value}</dd>
    </div>
  ));
