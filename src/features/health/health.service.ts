import { Injectable } from '@nestjs/common';
import { Database } from '#platform/database/database';
import { RateLimitStorage } from '#platform/limits/rate-limit.storage';
import { atMostEvery } from '#platform/timing/at-most-every';
import { within } from '#platform/timing/waits';
import { CHAIN_STATE } from '#ledger/chain/chain.sql';
import type { BlockchainStatus, DatabaseStatus, HealthReport } from './health.dto';

/** Probes are frequent and come from several sides. Within this time they share one query. */
const REUSE_MS = 500;
/** The most that a report waits for the database: by default probes wait no longer than a second. */
const PATIENCE_MS = 700;

type State = [DatabaseStatus, BlockchainStatus, block: number | null];
/** The indexer's state is in the database, so without it nothing is known. */
const NOTHING_KNOWN: State = ['disconnected', 'disconnected', null];

@Injectable()
export class HealthService {
  isDraining = false;
  /** A read that hangs, as on a dead connection, holds up only the probes of that moment. */
  private readonly state = atMostEvery(REUSE_MS, () => this.readState(), REUSE_MS);

  constructor(
    private readonly database: Database,
    private readonly rateLimits: RateLimitStorage,
  ) {}

  /** From now on readiness fails, so that load balancers stop sending requests. */
  drain(): void {
    this.isDraining = true;
  }

  async report(): Promise<HealthReport> {
    const [database, blockchain, block] = (await within(PATIENCE_MS, this.state())) ?? NOTHING_KNOWN;
    const redis = this.rateLimits.status;
    const degraded = blockchain === 'disconnected' || redis === 'disconnected';
    return {
      status: database === 'disconnected' ? 'unhealthy' : degraded ? 'degraded' : 'healthy',
      timestamp: new Date().toISOString(),
      uptime: Math.floor(process.uptime()),
      services: { database, blockchain, redis },
      block,
    };
  }

  async databaseStatus(): Promise<DatabaseStatus> {
    return (await this.state())[0];
  }

  private async readState(): Promise<State> {
    try {
      const chain = await this.database.read(CHAIN_STATE, {});
      if (!chain) return ['connected', 'disconnected', null];
      const { state, stale, block } = chain;
      const reads = !stale && (state === 'synced' || state === 'syncing');
      return ['connected', reads ? state : 'disconnected', block];
    } catch {
      return NOTHING_KNOWN;
    }
  }
}
