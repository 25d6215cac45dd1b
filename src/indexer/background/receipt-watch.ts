import { Injectable } from '@nestjs/common';
import type { Client } from 'pg';
import { isObject } from '#ledger/chain/json-rpc';
import { columnsOf } from '#platform/postgres/columns';
import { IndexerSettings } from '#settings/indexer.settings';
import { RpcEndpoints } from '#indexer/agreement/rpc-endpoints';
import { acceptedClaim, askEach } from '#indexer/agreement/vote';
import type { Call } from '#indexer/reading/rpc';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { IndexerTelemetry } from '#indexer/reporting/telemetry';
import { AT_ONCE, KEEP, OPEN } from './receipts.sql';

/** Time between two rounds that find something, between others, and after one that too few endpoints answered. */
const PAUSE_MS = { busy: 1000, idle: 5000, failed: 30_000 };
/** Every sixth round is for old blocks, which perhaps no endpoint has. */
const OLD_ROUNDS = 6;
/** Further behind the head, the cursor is in a backfill. A chain without a pause may be some hundred blocks ahead. */
const BACKFILL_BLOCKS = 1000;
const NEWEST = Number.MAX_SAFE_INTEGER;

/**
 * Fills in what confirmed transactions cost, from their receipts. It is for display only: each round sends a few calls
 * and repeats none, for the newest blocks and sometimes for older ones, one after another. Blocks whose receipts no
 * endpoint has are asked for less and less often.
 */
@Injectable()
export class ReceiptWatch {
  readonly failure = 'gas could not be filled in';
  private rounds = 0;
  /** Whether the last round filled in any gas. */
  private isBusy = false;
  /** The old block below which to continue. */
  private below = NEWEST;

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
    const { rows } = await client.query<OpenBlock & { last: number | null }>(OPEN, [
      isOld ? this.below : NEWEST,
    ]);
    const due = rows.filter(({ number }) => number !== null);
    const heard = this.endpoints.all.filter((each) => each.heard);
    const blocks = affordable(due);
    if (isOld) this.below = blocks.at(-1)?.number ?? rows[0].last ?? NEWEST;
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

/** A block of the ledger, and those of its transactions whose gas is not known. */
interface OpenBlock {
  number: number;
  hash: string;
  hashes: string[];
}

/** What a transaction cost: decimal strings. `l1Fee` is what chains of the OP stack take beside the gas. */
interface Cost {
  used: string;
  price: string | null;
  l1Fee: string | null;
}

/** By transaction. */
type Costs = Map<string, Cost>;

/** What fits into the columns, and more than any chain needs. */
const QUANTITY = /^0x[0-9a-f]{1,32}$/i;

/** As many of the first blocks as one round may ask for; at least one. */
function affordable(blocks: OpenBlock[]): OpenBlock[] {
  let calls = 0;
  return blocks.filter(({ hashes }, i) => (calls += hashes.length) <= AT_ONCE || i === 0);
}

/**
 * Asks one endpoint, once: what it does not answer is asked another time, and counts neither for nor against it as a
 * reader. @throws RetryableChainError when it does not answer
 */
async function ask({ source }: WatchedEndpoint, blocks: OpenBlock[]): Promise<Costs> {
  const hashes = blocks.flatMap((block) => block.hashes);
  const calls = hashes.map((hash): Call => ['eth_getTransactionReceipt', [hash]]);
  return costsOf(await source.rpc.settled(calls, 0), blocks);
}

/** Of transactions that were asked for, in the ledger's own block; whatever else a node sends is ignored. */
function costsOf(answers: unknown[], blocks: OpenBlock[]): Costs {
  const wanted = new Map(blocks.flatMap(({ hash, hashes }) => hashes.map((each) => [each, hash] as const)));
  const costs: Costs = new Map();
  for (const answer of answers.filter(isObject)) {
    const { transactionHash, blockHash, gasUsed, effectiveGasPrice, l1Fee } = answer;
    const values = [gasUsed, effectiveGasPrice ?? null, l1Fee ?? null].map(decimal);
    if (typeof transactionHash !== 'string' || blockHash !== wanted.get(transactionHash)) continue;
    const [used, price, fee] = values;
    if (typeof used === 'string' && price !== undefined && fee !== undefined)
      costs.set(transactionHash, { used, price, l1Fee: fee });
  }
  return costs;
}

/** @returns undefined if it is no quantity */
const decimal = (value: unknown): string | null | undefined =>
  value === null
    ? null
    : typeof value === 'string' && QUANTITY.test(value)
      ? BigInt(value).toString()
      : undefined;

/** What endpoints say of one transaction, by the vote on all that is read from the chain. */
const agreed = (said: (Cost | undefined)[], agree: number): Cost | undefined =>
  said[
    acceptedClaim(
      said.map((cost) => cost && JSON.stringify(cost)),
      agree,
    )
  ];
