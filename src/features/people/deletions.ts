import {
  type BeforeApplicationShutdown,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { Database } from '#platform/database/database';
import { OutageLog } from '#platform/log/outage-log';
import { pause } from '#platform/timing/waits';
import { GO_ON_DELETING, STEP } from './deletion.sql';

/** Time between two looks. What one process left unfinished another one goes on with. */
const LOOK_MS = 30_000;
const MOST_REST_MS = 1000;

/** Completes the deletions of accounts, in small steps, whichever process they were asked of. */
@Injectable()
export class Deletions implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stop = new AbortController();
  private readonly outage = new OutageLog(new Logger(Deletions.name), 'deletions of accounts have to wait');
  private woken = new AbortController();
  private running = Promise.resolve();

  constructor(private readonly database: Database) {}

  onApplicationBootstrap(): void {
    this.running = this.run();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stop.abort();
    this.hurry();
    await this.running;
  }

  /** Looks now. */
  hurry(): void {
    this.woken.abort();
  }

  /** Rests after each step as long as it took, so that it is never more than half of the work of one connection. */
  async complete(): Promise<void> {
    for (let done = 1; done > 0 && !this.stop.signal.aborted;) {
      const begun = performance.now();
      ({ done } = (await this.database.write(GO_ON_DELETING, STEP))!);
      if (done > 0) await pause(Math.min(performance.now() - begun, MOST_REST_MS), this.stop.signal);
    }
  }

  private async run(): Promise<void> {
    while (!this.stop.signal.aborted) {
      this.woken = new AbortController();
      try {
        await this.complete();
        this.outage.succeeded();
      } catch (error) {
        this.outage.failed(error);
      }
      if (!this.stop.signal.aborted) await pause(LOOK_MS * (0.5 + Math.random()), this.woken.signal);
    }
  }
}
