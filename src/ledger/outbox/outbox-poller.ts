import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { OutageLog } from '#platform/log/outage-log';
import { Loop } from '#platform/timing/loop';

/** Time from the beginning of a read of the outbox to the next. */
const POLL_MS = 250;

type Task = () => Promise<void>;

/**
 * The one polling loop of a process. Consumers, streams and the sender of webhooks each add a task. It polls, because a
 * notification comes at commit, when an older transaction may still prevent the event from being read.
 */
@Injectable()
export class OutboxPoller implements OnApplicationBootstrap, OnModuleDestroy {
  readonly tasks = new Set<Task>();
  /** When the last read began, as a `performance.now()`. */
  private begun = 0;
  private readonly loop = new Loop(
    () => this.runTasks(),
    () => Math.max(0, this.begun + POLL_MS - performance.now()),
    new OutageLog(new Logger(OutboxPoller.name), 'reading events failed; retrying', 'events are read again'),
  );

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  /**
   * Runs a task repeatedly; each run starts after the one before has finished.
   * @returns a function that stops it
   */
  add(task: Task): () => void {
    this.tasks.add(task);
    this.hurry();
    return () => void this.tasks.delete(task);
  }

  /** Runs the tasks again without waiting. */
  hurry(): void {
    this.loop.hurry();
  }

  async onModuleDestroy(): Promise<void> {
    await this.loop.stop();
  }

  private async runTasks(): Promise<void> {
    this.begun = performance.now();
    const results = await Promise.allSettled([...this.tasks].map((task) => task()));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
  }
}
