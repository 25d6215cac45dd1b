import {
  type BeforeApplicationShutdown,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import type { Client } from 'pg';
import { PostgresSettings } from '#platform/postgres/postgres.settings';
import { Loop } from '#platform/timing/loop';
import { within } from '#platform/timing/waits';
import { connect } from '#indexer/leading/leader';
import { Preflight } from '#indexer/leading/preflight';
import { PriceWatch } from './price-watch';
import { ReceiptWatch } from './receipt-watch';
import { SubmissionWatch } from './submission-watch';

/** Time between two checks of which tasks are due. */
const LOOK_MS = 500;
/** The next round would do the same as the round that is interrupted. */
const STOP_MS = 1000;

/** Repeated work of the leader. */
export interface Task {
  /** For the log: what a failed round could not do. */
  readonly failure: string;
  /** Whether this process is to do it now: only one that leads. */
  mayRun(): boolean;
  /** Time before the next round. */
  pauseMs(hasFailed: boolean): number;
  round(client: Client): Promise<void>;
}

/**
 * Runs the leader's tasks one after another, alongside reading and over a separate connection. Neither reading nor health
 * waits for them or depends on them.
 */
@Injectable()
export class Background implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(Background.name);
  private readonly loop = new Loop(
    () => this.look(),
    () => LOOK_MS,
  );
  private readonly tasks: { task: Task; at: number }[];
  private client?: Client;

  constructor(
    private readonly postgres: PostgresSettings,
    preflight: Preflight,
    submissions: SubmissionWatch,
    receipts: ReceiptWatch,
    prices: PriceWatch,
  ) {
    this.tasks = [preflight, submissions, receipts, prices].map((task) => ({ task, at: 0 }));
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await within(STOP_MS, this.loop.stop());
    await this.disconnect();
  }

  private async look(): Promise<void> {
    const open = this.tasks.filter(({ task }) => task.mayRun());
    if (open.length === 0) await this.disconnect();
    for (const each of open.filter(({ at }) => at <= performance.now()))
      if (!this.loop.signal.aborted) each.at = performance.now() + (await this.attempt(each.task));
  }

  /** @returns the time before the next round */
  private async attempt(task: Task): Promise<number> {
    try {
      await task.round((this.client ??= await connect(this.postgres.DATABASE_URL)));
      return task.pauseMs(false);
    } catch (error) {
      this.logger.warn(`${task.failure}: ${(error as Error).message}`);
      await this.disconnect();
      return task.pauseMs(true);
    }
  }

  private async disconnect(): Promise<void> {
    const { client } = this;
    this.client = undefined;
    await client?.end().catch(() => undefined);
  }
}
