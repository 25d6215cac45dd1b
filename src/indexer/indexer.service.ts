import { Injectable, Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { Environment } from '../config/environment';
import { fillGas } from './gas';
import { becomeLeader, connect } from './leader';
import { Cursor, Ledger, LeadershipLost, SYNCED_WITHIN } from './ledger';
import { WrongChain, openCursor } from './opening';
import { Rpc, RpcError, RpcUnavailable } from './rpc';
import { Batch, Block, Competing, Gap, NotThere, Source, WINDOW } from './source';
import { Status } from './status';

/** The chain is not the one that was indexed, or changed deeper than can be followed: for a person to decide. */
export class Halted extends Error {}

/** Time in ms between looks at the head. */
const POLL = 500;
const PROGRESS = 5000;

/**
 * Follows the chain: one awaited loop that reads the next blocks, checks them and applies them. Whatever fails, the
 * state in the database is that of some block that was the chain's, and the loop goes on from there.
 */
@Injectable()
export class Indexer {
  readonly status = new Status();
  private readonly logger = new Logger(Indexer.name);
  private readonly contracts: string[];
  private readonly source: Source;
  private stopping = false;
  private wake = new AbortController();
  private seqs = new Map<string, number>();
  private reported = { at: 0, events: 0 };

  constructor(private readonly environment: Environment) {
    this.contracts = [...new Set(environment.POOL_CONTRACTS.values())];
    const rpc = new Rpc(environment.RPC_URL!, (kind) => this.status.retries.inc({ kind }));
    this.source = new Source(rpc, this.contracts);
  }

  stop(): void {
    this.stopping = true;
    this.wake.abort();
  }

  /** Leads, or stands by to lead, until stopped. @throws Error when the configuration does not fit the chain */
  async run(): Promise<void> {
    while (!this.stopping) {
      let client: Client | undefined;
      try {
        client = await connect(this.environment.DATABASE_URL);
        const ledger = new Ledger(client, {
          confirmations: this.environment.CONFIRMATIONS,
          pendingTtl: this.environment.PENDING_DEPOSIT_TTL,
        });
        await ledger.prepare();
        if (await becomeLeader(client, () => this.stopping)) await this.lead(client, ledger);
      } catch (error) {
        if (error instanceof WrongChain) throw error;
        this.logger.warn(`starting over: ${(error as Error).message}`);
        await this.pause(1000);
      } finally {
        this.status.leads(false);
        await client?.end().catch(() => undefined);
      }
    }
  }

  private async lead(client: Client, ledger: Ledger): Promise<void> {
    let cursor = await this.open(client);
    if (!cursor) return;
    await this.loadSeqs(ledger);
    this.status.leads(true);
    this.logger.log(`leading from block ${cursor.number}`);
    let next: Promise<Batch> | undefined;
    let failures = 0;
    while (!this.stopping) {
      try {
        const head = await this.source.block('latest');
        if (!head) throw new NotThere('head');
        ({ cursor, next } = await this.step(client, ledger, cursor, head, next));
        failures = 0;
      } catch (error) {
        next = undefined;
        failures += 1;
        cursor = await this.recover(client, ledger, cursor, error as Error);
        await this.pause(Math.min(100 * 2 ** failures, 5000));
      }
    }
  }

  /** One round: the next batch if there is one, or what is due while the chain rests. */
  private async step(
    client: Client,
    ledger: Ledger,
    cursor: Cursor,
    head: Block,
    prefetched?: Promise<Batch>,
  ): Promise<{ cursor: Cursor; next?: Promise<Batch> }> {
    if (head.number < cursor.number) {
      // Either the node is behind, or its chain is another one; only a competing block tells the latter.
      const known = (await ledger.window()).find((block) => block.number === head.number);
      if (known?.hash !== head.hash) throw new Competing(`head ${head.number}`);
    } else if (head.number === cursor.number && head.hash !== cursor.hash) {
      throw new Competing(`head ${head.number}`);
    }
    if (head.number <= cursor.number) {
      const rest: Batch = { from: cursor.number + 1, to: cursor, blocks: [], events: [] };
      const idle = await this.apply(ledger, cursor, rest, Math.max(head.number, cursor.number));
      if (!(await fillGas(client, this.source.rpc))) await this.pause(POLL);
      return { cursor: idle };
    }
    const batch = await (prefetched ?? this.source.read(cursor, head.number));
    this.checkSeqs(batch);
    // While this batch is written, the next one is read.
    const next = batch.to.number < head.number ? this.source.read(batch.to, head.number) : undefined;
    next?.catch(() => undefined);
    const moved = await this.apply(ledger, cursor, batch, head.number);
    for (const event of batch.events) this.seqs.set(event.contract, event.seq);
    if (moved.number === head.number) await this.checkCounts(moved.number);
    return { cursor: moved, next };
  }

  private async apply(ledger: Ledger, cursor: Cursor, batch: Batch, head: number): Promise<Cursor> {
    const { cursor: moved, anomalies, expired } = await ledger.apply(cursor, batch, head);
    for (const { kind } of batch.events) this.status.events.inc({ kind });
    for (const [kind, count] of anomalies) {
      this.status.anomalies.inc({ kind }, count);
      this.logger.warn(`${count} events do not fit what is known: ${kind}`);
    }
    this.status.expired.inc(expired);
    this.status.position(moved, head, this.source.range);
    this.status.state = head - moved.number <= SYNCED_WITHIN ? 'synced' : 'syncing';
    this.report(batch.events.length);
    return moved;
  }

  /** @throws Gap when the numbering of a contract's events has a hole */
  private checkSeqs(batch: Batch): void {
    const last = new Map(this.seqs);
    for (const { contract, seq } of batch.events) {
      const before = last.get(contract);
      if (before !== undefined && seq !== before + 1) throw new Gap(contract, before, seq);
      last.set(contract, seq);
    }
  }

  /** At the head: events left out at the end of what was read have no later one that would show it. */
  private async checkCounts(block: number): Promise<void> {
    const counts = await this.source.counts(block);
    counts.forEach((count, i) => {
      const contract = this.contracts[i]!;
      const seq = this.seqs.get(contract);
      if (count !== undefined && seq !== undefined && count > seq) throw new Gap(contract, seq, count);
    });
  }

  /** Where each contract's numbering stands; unknown, until its first event, where the node keeps no old state. */
  private async loadSeqs(ledger: Ledger): Promise<void> {
    this.seqs = await ledger.lastSeqs(this.contracts);
    if (this.contracts.every((contract) => this.seqs.has(contract))) return;
    const { START_BLOCK } = this.environment;
    const before = START_BLOCK > 0 ? await this.source.counts(START_BLOCK - 1) : [];
    this.contracts.forEach((contract, i) => {
      const seq = START_BLOCK > 0 ? before[i] : 0;
      if (!this.seqs.has(contract) && seq !== undefined) this.seqs.set(contract, seq);
    });
  }

  private async recover(client: Client, ledger: Ledger, cursor: Cursor, error: Error): Promise<Cursor> {
    if (error instanceof Competing) return this.reconcile(client, ledger, cursor);
    if (error instanceof Gap) {
      this.status.gaps.inc();
      this.logger.warn(`the node leaves events out: ${error.message}`);
      return this.reread(ledger, cursor, error);
    }
    const nodeTrouble =
      error instanceof RpcUnavailable || error instanceof RpcError || error instanceof NotThere;
    if (!nodeTrouble) throw error;
    this.logger.warn(`waiting for the node: ${error.message}`);
    if (error instanceof RpcUnavailable) {
      // It may be that the node takes too long for so many blocks.
      this.source.range = Math.max(1, Math.floor(this.source.range / 2));
      await this.tell(client, cursor, 'disconnected');
    }
    return cursor;
  }

  /**
   * Follows a reorganisation: back to the newest block that both chains have, which is then read on from.
   * @throws Halted when there is none in the window
   */
  private async reconcile(client: Client, ledger: Ledger, cursor: Cursor): Promise<Cursor> {
    const window = await ledger.window();
    const headers = await this.source.blocks(window.map((block) => block.number)).catch((error: Error) => {
      if (error instanceof RpcUnavailable || error instanceof RpcError) return undefined;
      throw error;
    });
    if (!headers) return cursor;
    const index = window.findIndex((block, i) => headers[i]?.hash === block.hash);
    const ancestor = window[index];
    // A node that lacks a block is behind: nothing is undone unless another block stands in its place.
    if (index === 0 || !headers[ancestor ? index - 1 : headers.length - 1]) return cursor;
    if (!ancestor)
      return this.halt(client, cursor, `the chain changed deeper than ${WINDOW} blocks below ${cursor.number}`);
    return this.rewindTo(ledger, cursor, ancestor, true);
  }

  /** After a hole: back to before the block of the last event that was got, since that block may lack some too. */
  private async reread(ledger: Ledger, cursor: Cursor, { contract }: Gap): Promise<Cursor> {
    const last = await ledger.lastEventBlock(contract);
    const to = Math.min(cursor.number, (last ?? this.environment.START_BLOCK) - 1);
    if (to >= cursor.number) return cursor;
    const block = await this.source.block(Math.max(to, -1) < 0 ? 0 : to).catch(() => undefined);
    return block ? this.rewindTo(ledger, cursor, block, false) : cursor;
  }

  private async rewindTo(ledger: Ledger, cursor: Cursor, block: Block, reorg: boolean): Promise<Cursor> {
    const depth = cursor.number - block.number;
    const { cursor: moved, undone } = await ledger.rewind(cursor, block, cursor.number);
    await this.loadSeqs(ledger);
    this.status.undone.inc(undone);
    if (reorg) {
      this.status.reorgs.inc();
      this.status.reorgDepth.observe(depth);
    }
    this.logger.warn(`${reorg ? 'reorganisation' : 'reading again'}: ${depth} blocks, ${undone} events taken back`);
    return moved;
  }

  /** By hand: takes everything after `block` back and, as events are kept, exactly. */
  async rewind(number: number): Promise<void> {
    const client = await connect(this.environment.DATABASE_URL);
    try {
      const ledger = new Ledger(client, { confirmations: this.environment.CONFIRMATIONS, pendingTtl: 0 });
      await ledger.prepare();
      const block = await this.source.block(number);
      if (!block) throw new Error(`the node has no block ${number}`);
      // A new epoch: whoever leads now finds its own ended and starts over from the new cursor.
      const cursor = await openCursor(client, this.source, this.environment);
      if (number > cursor.number) throw new Error(`the cursor is at block ${cursor.number} only`);
      const { undone } = await ledger.rewind(cursor, block, block.number);
      this.logger.log(`rewound to block ${number}: ${undone} events taken back`);
    } finally {
      await client.end();
    }
  }

  /** Waits for the node at start; the API answers meanwhile. */
  private async open(client: Client): Promise<Cursor | undefined> {
    while (!this.stopping) {
      try {
        return await openCursor(client, this.source, this.environment, this.logger);
      } catch (error) {
        if (!(error instanceof RpcUnavailable || error instanceof NotThere)) throw error;
        this.status.state = 'disconnected';
        this.logger.warn(`waiting for the node: ${error.message}`);
        await this.pause(1000);
      }
    }
    return undefined;
  }

  /** Stops following until a person rewinds; data stay as they are. */
  private async halt(client: Client, cursor: Cursor, reason: string): Promise<never> {
    this.logger.error(`HALTED: ${reason}. Check the node, then run: rewind --to <block both chains have>`);
    while (!this.stopping) {
      await this.tell(client, cursor, 'halted');
      await this.pause(2000);
    }
    throw new Halted(reason);
  }

  private async tell(client: Client, { epoch }: Cursor, state: 'disconnected' | 'halted'): Promise<void> {
    this.status.state = state;
    const told = await client.query('UPDATE chain_cursor SET state = $1, beat_at = now() WHERE epoch = $2', [
      state,
      epoch,
    ]);
    if (told.rowCount !== 1) throw new LeadershipLost('another process leads');
  }

  private report(events: number): void {
    this.reported.events += events;
    const { at } = this.reported;
    const terminal = process.stderr.isTTY;
    const due = Date.now() - at >= (terminal ? 200 : PROGRESS);
    if (this.status.state !== 'syncing' || !due) return;
    if (at > 0) {
      const line = this.status.progress(this.reported.events, (Date.now() - at) / 1000);
      if (terminal) process.stderr.write(`\r\x1b[K${line}`);
      else this.logger.log(line);
    }
    this.reported = { at: Date.now(), events: 0 };
  }

  private async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.wake.signal }).catch(() => undefined);
  }
}
