import { Injectable } from '@nestjs/common';
import { Database } from '#platform/database/database';
import { RateLimitStorage } from '#platform/limits/rate-limit.storage';
import { CHAIN_STATE } from '#ledger/chain/chain.sql';
import type { BlockchainStatus, DatabaseStatus, HealthReport } from './health.dto';

/** Probes are frequent and come from several sides. Within this time they share one query. */
const REUSE_MS = 500;

@Injectable()
export class HealthService {
  private draining = false;
  private latest?: { at: number; state: Promise<[DatabaseStatus, BlockchainStatus]> };

  constructor(
    private readonly database: Database,
    private readonly rateLimits: RateLimitStorage,
  ) {}

  /** From now on readiness fails, so that load balancers stop sending requests. */
  drain(): void {
    this.draining = true;
  }

  async report(): Promise<HealthReport> {
    const [database, blockchain] = await this.state();
    const redis = this.rateLimits.status;
    const degraded = blockchain === 'disconnected' || redis === 'disconnected';
    return {
      status: database === 'disconnected' ? 'unhealthy' : degraded ? 'degraded' : 'healthy',
      timestamp: new Date().toISOString(),
      uptime: Math.floor(process.uptime()),
      services: { database, blockchain, redis },
    };
  }

  async databaseStatus(): Promise<DatabaseStatus> {
    return (await this.state())[0];
  }

  get isDraining(): boolean {
    return this.draining;
  }

  private state(): Promise<[DatabaseStatus, BlockchainStatus]> {
    if (!this.latest || Date.now() - this.latest.at > REUSE_MS)
      this.latest = { at: Date.now(), state: this.readState() };
    return this.latest.state;
  }

  private async readState(): Promise<[DatabaseStatus, BlockchainStatus]> {
    try {
      const chain = await this.database.read(CHAIN_STATE, {});
      if (!chain || chain.stale) return ['connected', 'disconnected'];
      const { state } = chain;
      return ['connected', state === 'synced' || state === 'syncing' ? state : 'disconnected'];
    } catch {
      // The indexer's state is in the database, so without it nothing is known.
      return ['disconnected', 'disconnected'];
    }
  }
}
