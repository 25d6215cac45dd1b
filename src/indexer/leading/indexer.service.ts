import {
  type BeforeApplicationShutdown,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { pause } from '#platform/timing/waits';
import { WrongChain } from '#indexer/agreement/chain-identity';
import { IndexerTelemetry } from '#indexer/reporting/telemetry';
import { Follower } from './follower';
import { LeadConnection, becomeLeader } from './leader';

/** Time before another attempt after the database or the lead was lost. */
const RESTART_MS = 1000;

/**
 * Starts and stops with the application. Of any number of indexers one leads and follows the chain; the others stand
 * by.
 */
@Injectable()
export class Indexer implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(Indexer.name);
  private readonly stop = new AbortController();
  private running = Promise.resolve();

  constructor(
    private readonly connection: LeadConnection,
    private readonly follower: Follower,
    private readonly telemetry: IndexerTelemetry,
  ) {}

  onApplicationBootstrap(): void {
    this.running = this.run();
    // `ended` passes the error on. Without this the process would also see an unhandled rejection.
    this.running.catch(() => undefined);
  }

  /** Resolves when the batch under way is written and the connection is closed. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stop.abort();
    await this.running.catch(() => undefined);
  }

  /** Settles when the indexer has ended. @throws WrongChain when the configuration does not fit the chain */
  get ended(): Promise<void> {
    return this.running;
  }

  /** Once for each cause, however often it comes in a row. */
  private warn(cause: string): void {
    if (cause !== this.telemetry.cutOffBy) this.logger.warn(`starting over: ${cause}`);
    this.telemetry.cutOffBy = cause;
  }

  private async run(): Promise<void> {
    const { signal } = this.stop;
    while (!signal.aborted) {
      try {
        await this.connection.use(async (lead) => {
          this.telemetry.role = 'standby';
          this.telemetry.cutOffBy = undefined;
          if (await becomeLeader(lead.client, () => signal.aborted)) await this.follower.lead(lead, signal);
        });
      } catch (error) {
        if (error instanceof WrongChain) throw error;
        this.telemetry.role = 'cut_off';
        this.warn((error as Error).message);
        await pause(RESTART_MS, signal);
      }
    }
  }
}
