import { type Problem, problemOf } from './errors.js';

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
