import { Injectable } from '@nestjs/common';
import type { Client } from 'pg';
import { PostgresSettings } from '#platform/postgres/postgres.settings';
import { Preflight } from '#indexer/leading/preflight';
import { IndexerTelemetry } from '#indexer/reporting/telemetry';
import { SideLoop } from './side-loop';

/** Time before the next attempt. It doubles each time: some contracts never tell their token. */
const FIRST_MS = 5000;
const MOST_MS = 300_000;

/** Reads what could not be read when this process began to lead: the token of the contracts, and their minimums. */
@Injectable()
export class FactsWatch extends SideLoop {
  protected readonly failure = 'the token of the contracts could not be read';
  private waitMs = FIRST_MS;

  constructor(
    postgres: PostgresSettings,
    private readonly preflight: Preflight,
    private readonly telemetry: IndexerTelemetry,
  ) {
    super(postgres.DATABASE_URL);
  }

  protected mayRun(): boolean {
    if (this.telemetry.role === 'leading' && this.preflight.lacksFacts) return true;
    this.waitMs = FIRST_MS;
    return false;
  }

  protected pauseMs(): number {
    return this.waitMs;
  }

  protected override failed(): void {
    this.waitMs = Math.min(this.waitMs * 2, MOST_MS);
  }

  protected async round(client: Client): Promise<void> {
    await this.preflight.retryFacts(client);
    this.waitMs = Math.min(this.waitMs * 2, MOST_MS);
  }
}
