import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Problem } from './errors.js';
import type { Job } from './job.js';

/** The browser's modal dialog: it keeps the focus, closes with Escape, and returns the focus. */
export function Dialog({
  title,
  onClose,
  children,
  locked = false,
}: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  /** Whether the dialog must stay open for now. */
  locked?: boolean;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const { current } = dialog;
    current?.showModal();
    return () => current?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby="dialog-title"
      onCancel={(event) => locked && event.preventDefault()}
      onClose={onClose}
    >
      <div class="dialog-head">
        <h2 id="dialog-title">{title}</h2>
        {!locked && (
          <button type="button" class="quiet" aria-label="Close" onClick={() => dialog.current?.close()}>
            ✕
          </button>
        )}
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

const SIGNS = { waiting: '', active: '', done: '✓' } as const;
const STATES = { waiting: 'to come', active: 'under way', done: 'done' } as const;

/** Shows a job's progress and result. */
export function JobDialog({ job, onClose }: { job: Job; onClose: () => void }) {
  const ended = job.problem !== undefined || job.result !== undefined;
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => button.current?.focus(), [ended]);
  return (
    <Dialog title={job.title} onClose={onClose} locked={!ended}>
      <ol class="steps">
        {job.steps.map(({ label, state }) => (
          <li key={label} class={job.problem && state === 'active' ? 'failed' : state}>
            <span class="sign" aria-hidden="true">
              {job.problem && state === 'active' ? '!' : SIGNS[state]}
            </span>
            <span>{label}</span>
            <span class="unseen">{STATES[state]}</span>
          </li>
        ))}
      </ol>
      <div aria-live="polite">
        {job.problem && <ProblemText problem={job.problem} />}
        {job.result && <p class="result">{job.result}</p>}
      </div>
      {ended && (
        <div class="actions">
          <button ref={button} type="button" class={job.problem ? '' : 'main'} onClick={onClose}>
            {job.problem ? 'Close' : 'Done'}
          </button>
        </div>
      )}
    </Dialog>
  );
}
