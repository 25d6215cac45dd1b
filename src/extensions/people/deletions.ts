import {
  type BeforeApplicationShutdown,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { Database } from '#platform/database/database';
import { OutageLog } from '#platform/log/outage-log';
import { statement } from '#platform/postgres/statement';
import { Loop } from '#platform/timing/loop';
import { pause } from '#platform/timing/waits';

/** Ends an account. `stays`: whether rows of the ledger keep naming its address as an owner's. */
export const DELETE_ACCOUNT = statement<{ address: string }, { stays: boolean }>(
  'delete_account',
  { address: 'text' },
  'SELECT delete_account(:address) AS stays',
  { chargedTo: 'address' },
);

/**
 * A small step of one of the deletions that are not complete; 0 when none is left. A step is few pools, because anything that
 * makes a pool meanwhile waits for its totals.
 */
export const GO_ON_DELETING = statement<{ answers: number; memberships: number }, { done: number }>(
  'go_on_deleting',
  { answers: 'integer', memberships: 'integer' },
  'SELECT go_on_deleting(:answers, :memberships) AS done',
);

export const STEP = { answers: 500, memberships: 20 };

/** Time between two looks. What one process left unfinished another one goes on with. */
const LOOK_MS = 30_000;
const MOST_REST_MS = 1000;

/** Completes the deletions of accounts, in small steps, whichever process they were asked of. */
@Injectable()
export class Deletions implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly loop = new Loop(
    () => this.complete(),
    () => LOOK_MS * (0.5 + Math.random()),
    new OutageLog(new Logger(Deletions.name), 'account deletion failed; retrying'),
  );

  constructor(private readonly database: Database) {}

  onApplicationBootstrap(): void {
    this.loop.start();
    this.hurry();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.loop.stop();
  }

  hurry(): void {
    this.loop.hurry();
  }

  /** Rests after each step as long as it took, so that it is never more than half of the work of one connection. */
  async complete(): Promise<void> {
    const { signal } = this.loop;
    for (let done = 1; done > 0 && !signal.aborted;) {
      const begun = performance.now();
      ({ done } = (await this.database.write(GO_ON_DELETING, STEP))!);
      if (done > 0) await pause(Math.min(performance.now() - begun, MOST_REST_MS), signal);
    }
  }
}
