import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';

/** Between two looks into the outbox. */
const POLL_MS = 250;

type Task = () => Promise<void>;

/**
 * The one loop of a process that looks into the outbox, as long as somebody wants to know. It polls: a notification
 * comes at the commit, when an older transaction may still keep the event from being read.
 */
@Injectable()
export class OutboxPoller implements OnModuleDestroy {
  private readonly logger = new Logger(OutboxPoller.name);
  private readonly tasks = new Set<Task>();
  private running?: Promise<void>;
  private wake: () => void = () => undefined;
  private stopping = false;
  private failing = false;

  /** Has a task done again and again, the next time after its promise is fulfilled. @returns what ends that */
  add(task: Task): () => void {
    this.tasks.add(task);
    this.running ??= this.run();
    return () => void this.tasks.delete(task);
  }

  /** How many want to know. */
  get listeners(): number {
    return this.tasks.size;
  }

  /** Looks again without waiting. */
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
      await this.look();
      let timer: NodeJS.Timeout | undefined;
      const pause = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, Math.max(0, POLL_MS - (performance.now() - begun))).unref();
      });
      if (!this.stopping) await Promise.race([pause, woken]);
      clearTimeout(timer);
    }
    this.running = undefined;
  }

  /** An outage is reported once, when it begins. */
  private async look(): Promise<void> {
    const results = await Promise.allSettled([...this.tasks].map((task) => task()));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed && !this.failing) this.logger.warn(`events have to wait: ${(failed.reason as Error).message}`);
    if (!failed && this.failing) this.logger.log('events are read again');
    this.failing = failed !== undefined;
  }
}
