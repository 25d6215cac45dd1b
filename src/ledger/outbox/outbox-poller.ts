import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { OutageLog } from '#platform/log/outage-log';

/** Time between two reads of the outbox. */
const POLL_MS = 250;

type Task = () => Promise<void>;

/**
 * The one polling loop of a process. Consumers, streams and the sender of webhooks each add a task; it runs while there
 * is one. It polls, because a notification comes at commit, when an older transaction may still prevent the event from
 * being read.
 */
@Injectable()
export class OutboxPoller implements OnModuleDestroy {
  private readonly outage = new OutageLog(
    new Logger(OutboxPoller.name),
    'events have to wait',
    'events are read again',
  );
  private readonly tasks = new Set<Task>();
  private running?: Promise<void>;
  private wake: () => void = () => undefined;
  private stopping = false;

  /**
   * Runs a task repeatedly; each run starts after the one before has finished.
   * @returns a function that stops it
   */
  add(task: Task): () => void {
    this.tasks.add(task);
    this.running ??= this.run();
    return () => void this.tasks.delete(task);
  }

  /** The number of listeners. */
  get listeners(): number {
    return this.tasks.size;
  }

  /** Runs the tasks again without waiting. */
  hurry(): void {
    this.wake();
  }

  async onModuleDestroy(): Promise<void> {
    this.stopping = true;
    this.wake();
    await this.running;
  }

  private async run(): Promise<void> {
    while (!this.stopping && this.tasks.size > 0) {
      const woken = new Promise<void>((resolve) => (this.wake = resolve));
      const begun = performance.now();
      await this.runTasks();
      let timer: NodeJS.Timeout | undefined;
      const pause = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, Math.max(0, POLL_MS - (performance.now() - begun))).unref();
      });
      if (!this.stopping) await Promise.race([pause, woken]);
      clearTimeout(timer);
    }
    this.running = undefined;
  }

  private async runTasks(): Promise<void> {
    const results = await Promise.allSettled([...this.tasks].map((task) => task()));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) this.outage.failed(failed.reason);
    else this.outage.succeeded();
  }
}
