import { Injectable, Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { Environment } from '../config/environment';
import { WrongChain } from './chain-identity';
import { EndpointPool } from './endpoint-pool';
import { EventWriter } from './event-writer';
import { Follower, type Lead } from './follower';
import { becomeLeader, connect } from './leader';
import { rewindByHand } from './rewind';
import { SyncState } from './sync-state';
import { IndexerTelemetry } from './telemetry';

/** Time before another attempt after the database or the lead was lost. */
const RESTART_MS = 1000;

/** The indexer as a process: of any number of them one leads and follows the chain, the others stand by. */
@Injectable()
export class Indexer {
  readonly telemetry: IndexerTelemetry;
  private readonly logger = new Logger(Indexer.name);
  private readonly pool: EndpointPool;
  private readonly follower: Follower;
  private readonly wake = new AbortController();

  constructor(private readonly environment: Environment) {
    const contracts = [...new Set([...environment.POOL_CONTRACTS.values()].flat())];
    this.telemetry = new IndexerTelemetry(new SyncState(environment.MAX_HEAD_AGE));
    this.pool = new EndpointPool(environment.RPC_URL!, contracts, this.telemetry);
    this.follower = new Follower(environment, this.pool, this.telemetry, this.wake.signal);
  }

  stop(): void {
    this.wake.abort();
  }

  private get stopping(): boolean {
    return this.wake.signal.aborted;
  }

  /** Leads, or stands by to lead, until stopped. @throws WrongChain when the configuration does not fit the chain */
  async run(): Promise<void> {
    while (!this.stopping) {
      try {
        await this.connected(async (lead) => {
          this.telemetry.role = 'standby';
          if (await becomeLeader(lead.client, () => this.stopping)) await this.follower.lead(lead);
        });
      } catch (error) {
        if (error instanceof WrongChain) throw error;
        this.telemetry.role = 'cut_off';
        this.logger.warn(`starting over: ${(error as Error).message}`);
        await sleep(RESTART_MS, undefined, { signal: this.wake.signal }).catch(() => undefined);
      }
    }
  }

  private async connected(work: (lead: Lead) => Promise<void>): Promise<void> {
    const { DATABASE_URL, CONFIRMATIONS, PENDING_DEPOSIT_TTL, POOL_CONTRACTS } = this.environment;
    const client = await connect(DATABASE_URL);
    try {
      const lotteries = new Set(POOL_CONTRACTS.get('lottery'));
      const rules = { confirmations: CONFIRMATIONS, pendingTtl: PENDING_DEPOSIT_TTL, lotteries };
      await work({ client, writer: new EventWriter(client, rules) });
    } finally {
      this.telemetry.leader.set(0);
      this.telemetry.showSetAside(new Map());
      // A server that hangs does not answer the farewell.
      await Promise.race([client.end().catch(() => undefined), sleep(1000, undefined, { ref: false })]);
    }
  }

  /** See `rewindByHand`. */
  async rewind(number: number): Promise<void> {
    await this.connected((lead) => rewindByHand(lead, number, this.pool, this.environment, this.telemetry));
  }
}
