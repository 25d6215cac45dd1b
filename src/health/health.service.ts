import { Injectable } from '@nestjs/common';
import { RateLimitStorage } from '../rate-limit/rate-limit.storage';
import { Database } from '../database/database';
import { statement } from '../database/statement';
import type { BlockchainStatus, DatabaseStatus, HealthReport } from './health.dto';

/** A beat older than this many seconds means that no indexer is at work. */
const STALE_BEAT = 15;

export const CHAIN_STATE = statement<object, { state: string; stale: boolean }>(
  'chain_state',
  {},
  `SELECT state, beat_at < now() - interval '${STALE_BEAT} seconds' AS stale FROM chain_cursor`,
);

/** Probes come often and from several sides; within this time, in ms, they share one look at the database. */
const REUSE = 500;

@Injectable()
export class HealthService {
  private draining = false;
  private latest?: { at: number; state: Promise<[DatabaseStatus, BlockchainStatus]> };

  constructor(
    private readonly connections: Database,
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

  async database(): Promise<DatabaseStatus> {
    return (await this.state())[0];
  }

  get isDraining(): boolean {
    return this.draining;
  }

  private state(): Promise<[DatabaseStatus, BlockchainStatus]> {
    if (!this.latest || Date.now() - this.latest.at > REUSE)
      this.latest = { at: Date.now(), state: this.look() };
    return this.latest.state;
  }

  private async look(): Promise<[DatabaseStatus, BlockchainStatus]> {
    try {
      const chain = await this.connections.read(CHAIN_STATE, {});
      if (!chain || chain.stale) return ['connected', 'disconnected'];
      const { state } = chain;
      return ['connected', state === 'synced' || state === 'syncing' ? state : 'disconnected'];
    } catch {
      // The indexer's state is in the database: without it nothing is known.
      return ['disconnected', 'disconnected'];
    }
  }
}
