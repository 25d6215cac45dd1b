import type { ContractCall, PayOptions } from '@pooled-savings/client';
import type { TransactionReceipt } from 'viem';
import { type Problem, problemOf } from './errors.js';

export interface Step {
  label: string;
  state: 'waiting' | 'active' | 'done';
}

/** Something that takes several steps, of the wallet, the chain and the service. */
export interface Job {
  title: string;
  steps: Step[];
  problem?: Problem;
  /** What came of it. */
  result?: string;
}

export interface Progress {
  /** The step that is on is done; the next one begins. */
  next: () => void;
}

/** Runs the work and tells of each change. Never throws: a problem is part of the job. */
export async function runJob(
  title: string,
  labels: string[],
  show: (job: Job) => void,
  work: (progress: Progress) => Promise<string>,
): Promise<Job> {
  let active = 0;
  const now = (rest: Partial<Job> = {}): Job => {
    const job: Job = {
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

/** Lets the wallet's transactions move the job on. */
export const paying = (
  wallet: PayOptions['wallet'],
  { next }: Progress,
): PayOptions & { onMined: (call: ContractCall, receipt: TransactionReceipt) => void } => ({
  wallet,
  onMined: next,
});
