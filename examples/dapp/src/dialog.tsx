import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Problem } from './errors.js';
import type { Job } from './job.js';

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

/** Shows a job's progress and result. Closed, it goes on in the background. */
export function JobDialog({ job, onClose }: { job: Job; onClose: () => void }) {
  const { problem, result } = job;
  const ended = problem !== undefined || result !== undefined;
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => button.current?.focus(), [ended]);
  const steps = job.steps.map(({ label, state }): ShownStep => ({
    label,
    state: problem && state === 'active' ? 'failed' : state,
  }));
  return (
    <Dialog title={job.title} onClose={onClose}>
      <Steps steps={steps} />
      <div aria-live="polite">
        {problem && <ProblemText problem={problem} />}
        {result && <p class="result">{result}</p>}
      </div>
      <div class="actions">
        <button ref={button} type="button" class={result ? 'main' : ''} onClick={onClose}>
          {result ? 'Done' : problem ? 'Close' : 'Go on in the background'}
        </button>
      </div>
    </Dialog>
  );
}
