import { Injectable } from '@nestjs/common';
import type { Client } from 'pg';
import { columnsOf } from '#platform/postgres/columns';
import { PostgresSettings } from '#platform/postgres/postgres.settings';
import { IndexerSettings } from '#settings/indexer.settings';
import { RpcEndpoints } from '#indexer/agreement/rpc-endpoints';
import { askEach } from '#indexer/agreement/vote';
import { SideLoop } from './side-loop';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { IndexerTelemetry } from '#indexer/reporting/telemetry';
import { type OpenBlock, affordable, agreed, ask } from './receipts';
import { BLOCKS_AT_ONCE, FORGET_LEFT, KEEP, OPEN } from './receipts.sql';

/** Time between two rounds that find something, and between others. */
const BUSY_MS = 1000;
const IDLE_MS = 5000;
/** Longest time between rounds while endpoints do not answer, and between turns of old blocks that nobody has. */
const MOST_MS = 60_000;
/** Further behind the head, the cursor is in a backfill. A chain without a pause may be some hundred blocks ahead. */
const BACKFILL_BLOCKS = 1000;
const NEWEST = Number.MAX_SAFE_INTEGER;

/** What a round did: nothing to ask, or whether it filled in any gas. */
type Outcome = 'nothing' | 'found' | 'none';

/**
 * Fills in what confirmed transactions cost, from their receipts. It is for display only: it asks a few calls a round
 * and never twice, newest and oldest blocks by turns, and each block whose receipts nobody has less and less often.
 */
@Injectable()
export class ReceiptWatch extends SideLoop {
  protected readonly failure = 'gas could not be filled in';
  private rounds = 0;
  private failures = 0;
  private waitMs = IDLE_MS;
  /** The old block to go on after, and when. */
  private after = -1;
  private old = { waitMs: IDLE_MS, at: 0 };

  constructor(
    postgres: PostgresSettings,
    private readonly settings: IndexerSettings,
    private readonly endpoints: RpcEndpoints,
    private readonly telemetry: IndexerTelemetry,
  ) {
    super(postgres.DATABASE_URL);
  }

  /** Also while a fast chain is always ahead, but not during a backfill. */
  protected mayRun(): boolean {
    const { state, heights } = this.telemetry;
    return (state === 'synced' || state === 'syncing') && heights.head - heights.cursor <= BACKFILL_BLOCKS;
  }

  protected pauseMs(): number {
    return this.waitMs;
  }

  protected override failed(): void {
    this.failures += 1;
    this.waitMs = Math.min(IDLE_MS * 2 ** this.failures, MOST_MS);
  }

  async round(client: Client): Promise<void> {
    const isOld = this.rounds++ % 2 === 1 && Date.now() >= this.old.at;
    const outcome = await this.turn(client, isOld);
    this.failures = 0;
    this.waitMs = outcome === 'found' ? BUSY_MS : IDLE_MS;
    if (isOld && outcome !== 'nothing') {
      const waitMs = outcome === 'found' ? IDLE_MS : Math.min(this.old.waitMs * 2, MOST_MS);
      this.old = { waitMs, at: outcome === 'found' ? 0 : Date.now() + waitMs };
    }
  }

  private async turn(client: Client, isOld: boolean): Promise<Outcome> {
    const from = isOld ? this.after : NEWEST;
    const { rows } = await client.query<OpenBlock & { last: number | null }>(
      isOld ? OPEN.oldest : OPEN.newest,
      [from],
    );
    const due = rows.filter(({ number }) => number !== null);
    const heard = this.endpoints.all.filter((each) => each.heard);
    const blocks = affordable(due, heard);
    if (isOld) {
      const isAll = blocks.length === due.length && due.length < BLOCKS_AT_ONCE;
      const upTo = isAll ? rows[0].last : blocks.at(-1)!.number;
      this.after = upTo ?? -1;
      await client.query(FORGET_LEFT, [from, upTo ?? NEWEST]);
    }
    if (blocks.length === 0) return 'nothing';
    return (await this.fill(client, blocks, heard)) > 0 ? 'found' : 'none';
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
