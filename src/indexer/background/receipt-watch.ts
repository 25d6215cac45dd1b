import { Injectable } from '@nestjs/common';
import type { Client } from 'pg';
import { columnsOf } from '#platform/postgres/columns';
import { IndexerSettings } from '#settings/indexer.settings';
import { RpcEndpoints } from '#indexer/agreement/rpc-endpoints';
import { askEach } from '#indexer/agreement/vote';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { IndexerTelemetry } from '#indexer/reporting/telemetry';
import { type OpenBlock, affordable, agreed, ask } from './receipts';
import { BLOCKS_AT_ONCE, KEEP, OPEN } from './receipts.sql';

/** Time between two rounds that find something, between others, and after one that too few endpoints answered. */
const PAUSE_MS = { busy: 1000, idle: 5000, failed: 30_000 };
/** One in so many rounds is for old blocks, which nobody may have. */
const OLD_ROUNDS = 6;
/** Further behind the head, the cursor is in a backfill. A chain without a pause may be some hundred blocks ahead. */
const BACKFILL_BLOCKS = 1000;
const NEWEST = Number.MAX_SAFE_INTEGER;

/**
 * Fills in what confirmed transactions cost, from their receipts. It is for display only: it asks a few calls a round
 * and never twice, newest blocks first and sometimes the oldest, and each block whose receipts nobody has less and less
 * often.
 */
@Injectable()
export class ReceiptWatch {
  readonly failure = 'gas could not be filled in';
  private rounds = 0;
  /** Whether the last round filled in any gas. */
  private isBusy = false;
  /** The old block to go on after. */
  private after = -1;

  constructor(
    private readonly settings: IndexerSettings,
    private readonly endpoints: RpcEndpoints,
    private readonly telemetry: IndexerTelemetry,
  ) {}

  /** Also while a fast chain is always ahead, but not during a backfill. */
  mayRun(): boolean {
    const { state, heights } = this.telemetry;
    return (state === 'synced' || state === 'syncing') && heights.head - heights.cursor <= BACKFILL_BLOCKS;
  }

  pauseMs(hasFailed: boolean): number {
    return PAUSE_MS[hasFailed ? 'failed' : this.isBusy ? 'busy' : 'idle'];
  }

  async round(client: Client): Promise<void> {
    const isOld = ++this.rounds % OLD_ROUNDS === 0;
    const { rows } = await client.query<OpenBlock & { last: number | null }>(
      isOld ? OPEN.oldest : OPEN.newest,
      [isOld ? this.after : NEWEST],
    );
    const due = rows.filter(({ number }) => number !== null);
    const heard = this.endpoints.all.filter((each) => each.heard);
    const blocks = affordable(due, heard);
    if (isOld) {
      const isAll = blocks.length === due.length && due.length < BLOCKS_AT_ONCE;
      this.after = (isAll ? rows[0].last : blocks.at(-1)!.number) ?? -1;
    }
    this.isBusy = blocks.length > 0 && (await this.fill(client, blocks, heard)) > 0;
  }

  /** @returns how many transactions have their gas now. @throws Error when too few endpoints answer */
  private async fill(client: Client, blocks: OpenBlock[], heard: WatchedEndpoint[]): Promise<number> {
    const { RPC_AGREE } = this.settings;
    const asked = await askEach(heard, (each) => ask(each, blocks));
    const answers = asked.filter((each) => each !== undefined);
    // This says nothing of the blocks.
    if (answers.length < RPC_AGREE) throw new Error('too few endpoints answer');
    const found = blocks.flatMap(({ number, hash, hashes }) =>
      hashes.flatMap((txHash) => {
        const cost = agreed(
          answers.map((costs) => costs.get(txHash)),
          RPC_AGREE,
        );
        return cost ? [{ txHash, number, hash, ...cost }] : [];
      }),
    );
    const numbers = new Set(found.map(({ number }) => number));
    // Whatever fails closes the connection, and so ends this.
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    const kept = await client.query<{ filled: number }>(KEEP, [
      ...columnsOf(found, 'txHash', 'number', 'hash', 'used', 'price', 'l1Fee'),
      ...columnsOf(blocks, 'number', 'hash'),
      blocks.map(({ number }) => numbers.has(number)),
    ]);
    await client.query('COMMIT');
    return kept.rows[0].filled;
  }
}
