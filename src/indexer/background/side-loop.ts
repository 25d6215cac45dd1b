import { type BeforeApplicationShutdown, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import type { Client } from 'pg';
import { Loop } from '#platform/timing/loop';
import { within } from '#platform/timing/waits';
import { connect } from '#indexer/leading/leader';

/** What is under way changes nothing that the next round would not. */
const STOP_MS = 1000;

/**
 * Work of the leader beside the reading: by time, however busy the chain is, and over a connection of its own. Neither
 * reading nor health waits for it or depends on it.
 */
export abstract class SideLoop implements OnApplicationBootstrap, BeforeApplicationShutdown {
  protected readonly logger = new Logger(this.constructor.name);
  private readonly loop = new Loop(
    () => this.attempt(),
    () => this.pauseMs(),
  );
  private client?: Client;

  constructor(private readonly databaseUrl: string) {}

  /** For the log: what a round that fails could not do. */
  protected abstract readonly failure: string;
  /** Whether this process is to do it now: only one that leads. */
  protected abstract mayRun(): boolean;
  /** Time before the next round. */
  protected abstract pauseMs(): number;
  protected abstract round(client: Client): Promise<void>;

  /** A round failed. By default, the next one tries again. */
  protected failed(): void {}

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await within(STOP_MS, this.loop.stop());
    await this.disconnect();
  }

  private async attempt(): Promise<void> {
    try {
      if (this.mayRun()) await this.round((this.client ??= await connect(this.databaseUrl)));
      else await this.disconnect();
    } catch (error) {
      this.logger.warn(`${this.failure}: ${(error as Error).message}`);
      this.failed();
      await this.disconnect();
    }
  }

  private async disconnect(): Promise<void> {
    const { client } = this;
    this.client = undefined;
    await client?.end().catch(() => undefined);
  }
}
