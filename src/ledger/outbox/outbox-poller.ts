import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { OutageLog } from '#platform/log/outage-log';
import { Loop } from '#platform/timing/loop';

/** Time from the beginning of a run of a task to the next. */
const POLL_MS = 250;

/**
 * Repeats what looks for events and what is to become of them: consumers, streams, and the parts of webhooks each add a
 * task, and none waits for another. It polls, because a notification comes at commit, when an older transaction may
 * still prevent the event from being read.
 */
@Injectable()
export class OutboxPoller implements OnModuleDestroy {
  readonly tasks = new Set<Loop>();
  private readonly logger = new Logger(OutboxPoller.name);

  /**
   * Runs a task repeatedly; each run starts after the one before has finished.
   * @param what is named in the log when the task fails
   * @returns a function that stops it, and waits for the run that is under way
   */
  add(what: string, task: () => Promise<void>): () => Promise<void> {
    let begun = -Infinity;
    const run = (): Promise<void> => {
      begun = performance.now();
      return task();
    };
    const wait = (): number => Math.max(0, begun + POLL_MS - performance.now());
    const outage = new OutageLog(this.logger, `${what} failed; retrying`, `${what} resumed`);
    const loop = new Loop(run, wait, outage);
    this.tasks.add(loop);
    loop.start();
    return () => {
      this.tasks.delete(loop);
      return loop.stop();
    };
  }

  /** Runs the tasks again without waiting. */
  hurry(): void {
    for (const loop of this.tasks) loop.hurry();
  }

  async onModuleDestroy(): Promise<void> {
    await Promise.all([...this.tasks].map((loop) => loop.stop()));
  }
}
