import { Injectable } from '@nestjs/common';
import type { Client } from 'pg';
import { TYPE_WITH_DRAWS } from '#values/types';
import { PostgresSettings } from '#platform/postgres/postgres.settings';
import { within } from '#platform/timing/waits';
import { IndexerSettings } from '#settings/indexer.settings';
import { ContractWriter, type Ledger } from '#indexer/contracts/contract-writer';
import { EventWriter } from '#indexer/ledger/event-writer';
import { IndexerTelemetry } from '#indexer/reporting/telemetry';
import { connect } from './leader';

/** A server that hangs does not answer when a connection is closed. */
const CLOSE_MS = 1000;

/** The leader's connection, and the writers on it. */
export interface Lead extends Ledger {
  client: Client;
}

/** Opens the connection that carries the lock of the leader and its batches. */
@Injectable()
export class LeadConnection {
  constructor(
    private readonly postgres: PostgresSettings,
    private readonly settings: IndexerSettings,
    private readonly telemetry: IndexerTelemetry,
  ) {}

  /** Runs with a connection of its own, and closes it. @throws whatever the database and `work` throw */
  async use<Result>(work: (lead: Lead) => Promise<Result>): Promise<Result> {
    const { CONFIRMATIONS, PENDING_DEPOSIT_TTL, POOL_CONTRACTS } = this.settings;
    const client = await connect(this.postgres.DATABASE_URL);
    try {
      const lotteries = new Set(POOL_CONTRACTS.get(TYPE_WITH_DRAWS));
      const rules = { confirmations: CONFIRMATIONS, pendingTtl: PENDING_DEPOSIT_TTL, lotteries };
      const writer = new EventWriter(client, rules);
      return await work({ client, writer, contracts: new ContractWriter(client, writer) });
    } finally {
      this.telemetry.leader.set(0);
      this.telemetry.showSetAside(new Map());
      await within(CLOSE_MS, client.end()).catch(() => undefined);
    }
  }
}
