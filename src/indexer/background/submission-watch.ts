import { Injectable, Logger } from '@nestjs/common';
import type { Client } from 'pg';
import { IndexerSettings } from '#settings/indexer.settings';
import { RpcEndpoints } from '#indexer/agreement/rpc-endpoints';
import { transaction } from '#indexer/ledger/transaction';
import { IndexerTelemetry } from '#indexer/reporting/telemetry';
import { LOCK_CURSOR, LOCK_POOLS } from '#verify/checks/look';
import { type LedgerChain, type Submission, ask, judge } from './evidence';
import { CONCLUDE, DUE, LEDGER_CHAIN, PAYMENTS, REMOVE_PAYMENTS, TAKE_PAYMENTS } from './submissions.sql';

/** Time between two rounds. */
const ROUND_MS = 5000;
/** Where none of many accounts has anything that is due, the others come soon. */
const NEXT_ACCOUNTS_MS = 500;

/**
 * Checks the hashes that payers submitted for deposits which the ledger lacks, and forgets those that can no longer pay
 * one: users who closed the page must be able to pay again. If the ledger already has the payment, because its hash was
 * submitted afterwards and the contract kept a part of the amount, it confirms the deposit. It asks about a few at a
 * time, while this process leads and is synced, over a separate connection: neither reading nor health depends on it.
 */
@Injectable()
export class SubmissionWatch {
  readonly failure = 'hashes that were told could not be looked at';
  private readonly logger = new Logger(SubmissionWatch.name);
  /** The account to go on after. */
  private lookedAt = '';

  constructor(
    private readonly settings: IndexerSettings,
    private readonly endpoints: RpcEndpoints,
    private readonly telemetry: IndexerTelemetry,
  ) {}

  mayRun(): boolean {
    return this.telemetry.state === 'synced';
  }

  pauseMs(hasFailed: boolean): number {
    if (hasFailed) this.lookedAt = '';
    return this.lookedAt === '' ? ROUND_MS : NEXT_ACCOUNTS_MS;
  }

  async round(client: Client): Promise<void> {
    const submissions = await this.next(client);
    if (submissions.length === 0) return;
    const { rows } = await client.query<LedgerChain>(LEDGER_CHAIN);
    const heard = this.endpoints.all.filter((each) => each.heard);
    const testimonies = await Promise.all(heard.map((each) => ask(each, submissions, rows[0])));
    await this.takePayments(
      client,
      submissions.map(({ id }) => id),
    );
    const verdicts = submissions.map((_, i) =>
      judge(
        testimonies.map((each) => each[i]),
        this.settings.RPC_AGREE,
      ),
    );
    const concluded = await client.query<{ over: number }>(CONCLUDE, [
      submissions.map(({ id }) => id),
      submissions.map(({ hash }) => hash),
      verdicts.map(({ verdict }) => verdict),
      verdicts.map((each) => (each.verdict === 'open' ? each.sender : null)),
      verdicts.map((each) => (each.verdict === 'open' ? each.nonce : null)),
      rows[0].applied,
      rows[0].hash,
    ]);
    const { over } = concluded.rows[0];
    if (over > 0) this.logger.log(`${over} submitted payments discarded`);
  }

  /**
   * Runs after the endpoints were asked, so that it misses no payment that they know of. At most one deposit of each
   * account is due, so no payment confirms two.
   */
  private async takePayments(client: Client, due: string[]): Promise<void> {
    const { rows } = await client.query<{ pool: string }>(PAYMENTS, [due]);
    if (rows.length === 0) return;
    await transaction(client, async () => {
      await client.query(LOCK_CURSOR);
      await client.query(LOCK_POOLS, [rows.map(({ pool }) => pool)]);
      const taken = await client.query<{ id: string }>(TAKE_PAYMENTS, [due]);
      await client.query(REMOVE_PAYMENTS, [taken.rows.map(({ id }) => id)]);
    });
  }

  /** Those that are due, of some accounts. */
  private async next(client: Client): Promise<Submission[]> {
    const { rows } = await client.query<Submission & { next: string }>(DUE, [this.lookedAt]);
    this.lookedAt = rows[0].next;
    return rows.filter(({ id }) => id !== null);
  }
}
