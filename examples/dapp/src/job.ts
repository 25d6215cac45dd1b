import type { ContractCall, PayOptions } from '@pooled-savings/client';
import type { TransactionReceipt } from 'viem';
import { type Problem, problemOf } from './errors.js';

export interface Step {
  label: string;
  state: 'waiting' | 'active' | 'done';
}

/** Work in several steps by the wallet, the chain and the service. */
export interface Job {
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

/** Runs the work and reports each change. Never throws: a failure becomes the job's `problem`. */
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

/** Moves the job on as the wallet's transactions proceed. */
export const paying = (
  wallet: PayOptions['wallet'],
  { next }: Progress,
): PayOptions & { onMined: (call: ContractCall, receipt: TransactionReceipt) => void } => ({
  wallet,
  onMined: next,
});
