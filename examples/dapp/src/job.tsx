import { useEffect, useRef } from 'preact/hooks';
import { type Problem, problemOf } from './errors.js';
import { Dialog, ProblemText, type ShownStep, Steps } from './parts.js';

export interface Step {
  label: string;
  state: 'waiting' | 'active' | 'done';
}

/** Work in several steps by the chain of this machine and the service. */
export interface Job {
  id: number;
  title: string;
  steps: Step[];
  problem?: Problem;
  /** Text about the outcome. */
  result?: string;
}

export interface Progress {
  /** Marks the active step as done and starts the next one. */
  next: () => void;
}

let jobs = 0;

/** Runs the work and reports each change. Never throws: a failure becomes the job's `problem`. */
export async function runJob(
  title: string,
  labels: string[],
  show: (job: Job) => void,
  work: (progress: Progress) => Promise<string>,
): Promise<Job> {
  const id = ++jobs;
  let active = 0;
  const now = (rest: Partial<Job> = {}): Job => {
    const job: Job = {
      id,
      title,
      steps: labels.map((label, index) => ({
        label,
        state: index < active ? 'done' : index === active ? 'active' : 'waiting',
      })),
      ...rest,
    };
    show(job);
    return job;
  };
  now();
  try {
    const result = await work({
      next: () => {
        active++;
        now();
      },
    });
    active = labels.length;
    return now({ result });
  } catch (error) {
    return now({ problem: problemOf(error) });
  }
}

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
