import { Injectable, Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, DatabaseError } from 'pg';
import { Environment } from '../config/environment';
import { WrongChain, openCursor } from './chain-identity';
import { followContracts } from './contract-set';
import { type Cursor, EventWriter, stateAt } from './event-writer';
import { fillGas } from './gas';
import { becomeLeader, connect } from './leader';
import { Gap, Numbering } from './numbering';
import { ChainTrouble, Rpc, RpcUnavailable } from './rpc';
import { type Batch, type Block, Competing, NotThere, Source, WINDOW } from './source';
import { Status } from './status';

/** Time in ms between looks at the head. */
const POLL = 500;
/** Time in ms between signs of life during long reads. */
const BEAT = 3000;

/** Where the leader stands, and the read ahead of it. */
interface Position {
  cursor: Cursor;
  next?: Promise<Batch>;
}

/**
 * Follows the chain: one awaited loop that reads the next blocks, checks them and applies them. Whatever fails, the
 * state in the database is that of some block that was the chain's, and the loop goes on from there.
 */
@Injectable()
export class Indexer {
  readonly status = new Status();
  private readonly logger = new Logger(Indexer.name);
  private readonly source: Source;
  private readonly numbering: Numbering;
  private readonly wake = new AbortController();
  private failures = 0;

  constructor(private readonly environment: Environment) {
    const rpc = new Rpc(environment.RPC_URL!, (kind) => this.status.retries.inc({ kind }));
    this.source = new Source(rpc, [...new Set([...environment.POOL_CONTRACTS.values()].flat())]);
    this.numbering = new Numbering(this.source, environment.START_BLOCK);
  }

  stop(): void {
    this.wake.abort();
  }

  private get stopping(): boolean {
    return this.wake.signal.aborted;
  }

  /** Leads, or stands by to lead, until stopped. @throws WrongChain when the configuration does not fit the chain */
  async run(): Promise<void> {
    while (!this.stopping) {
      try {
        await this.connected(async (client, writer) => {
          this.status.state = 'standby';
          if (await becomeLeader(client, () => this.stopping)) await this.lead(client, writer);
        });
      } catch (error) {
        if (error instanceof WrongChain) throw error;
        this.status.state = 'disconnected';
        this.logger.warn(`starting over: ${(error as Error).message}`);
        await this.pause(1000);
      }
    }
  }

  private async connected(work: (client: Client, writer: EventWriter) => Promise<void>): Promise<void> {
    const { DATABASE_URL, CONFIRMATIONS, PENDING_DEPOSIT_TTL, POOL_CONTRACTS } = this.environment;
    const client = await connect(DATABASE_URL);
    try {
      const lotteries = new Set(POOL_CONTRACTS.get('lottery'));
      const rules = { confirmations: CONFIRMATIONS, pendingTtl: PENDING_DEPOSIT_TTL, lotteries };
      await work(client, new EventWriter(client, rules));
    } finally {
      this.status.leader.set(0);
      this.status.showSetAside(new Map());
      // A server that hangs does not answer the farewell.
      await Promise.race([client.end().catch(() => undefined), sleep(1000, undefined, { ref: false })]);
    }
  }

  private async lead(client: Client, writer: EventWriter): Promise<void> {
    this.status.leader.set(1);
    this.status.state = 'syncing';
    let at: Position | undefined;
    let trouble: Error | undefined;
    while (!this.stopping) {
      try {
        if (!at) {
          const cursor = await openCursor(client, writer, this.source, this.environment);
          await followContracts(client, this.source, cursor, this.environment.POOL_CONTRACTS, this.logger);
          await this.numbering.load(writer);
          this.status.showSetAside(await writer.setAside());
          this.logger.log(`leading from block ${cursor.number}`);
          at = { cursor };
        }
        if (trouble) at = { cursor: await this.recover(writer, at.cursor, trouble) };
        trouble = undefined;
        at = await this.step(client, writer, at);
        this.failures = 0;
      } catch (error) {
        // Such as a deadlock with a request.
        const conflict = error instanceof DatabaseError && error.code?.startsWith('40');
        if (!(error instanceof ChainTrouble || conflict)) throw error;
        trouble = error;
        if (!(error instanceof Competing)) await this.wait(writer, at?.cursor, error);
      }
    }
  }

  /** One round: the next batch if there is one, or what is due while the chain rests. */
  private async step(client: Client, writer: EventWriter, { cursor, next }: Position): Promise<Position> {
    const head = await this.source.block('latest');
    if (!head) throw new NotThere('head');
    if (head.number <= cursor.number) {
      // Either the node is behind, or its chain is another one; only a competing block tells the latter.
      const known = head.number < cursor.number ? (await writer.window()).find(is(head.number)) : cursor;
      if (known?.hash !== head.hash) throw new Competing(`head ${head.number}`);
      const rest = { to: cursor, blocks: [], events: [], counts: [] };
      const at = { cursor: await this.apply(writer, cursor, rest, cursor.number) };
      if (!(await fillGas(client, this.source.rpc))) await this.pause(POLL);
      return at;
    }
    const batch = await this.beating(writer, cursor, next ?? this.source.read(cursor, head.number));
    this.numbering.check(batch);
    // While this batch is written, the next one is read.
    const ahead = batch.to.number < head.number ? this.source.read(batch.to, head.number) : undefined;
    ahead?.catch(() => undefined);
    const moved = await this.apply(writer, cursor, batch, head.number);
    this.numbering.advance(batch);
    return { cursor: moved, next: ahead };
  }

  private async apply(writer: EventWriter, cursor: Cursor, batch: Batch, head: number): Promise<Cursor> {
    const { cursor: moved, anomalies, expired, setAside } = await writer.apply(cursor, batch, head);
    for (const [kind, count] of anomalies) {
      this.status.anomalies.inc({ kind }, count);
      this.logger.warn(`${count} events do not fit what is known: ${kind}`);
    }
    this.status.expired.inc(expired);
    this.status.showSetAside(setAside);
    this.status.state = stateAt(moved, head);
    const line = this.status.applied(moved, head, this.source.range, batch.events);
    if (line) this.logger.log(line);
    return moved;
  }

  /** Other indexers take a leader without a sign of life for dead. */
  private async beating<T>(writer: EventWriter, cursor: Cursor, work: Promise<T>): Promise<T> {
    const beat = (): unknown => writer.beat(this.status.state, cursor).catch(() => undefined);
    const timer = setInterval(beat, BEAT);
    return work.finally(() => clearInterval(timer));
  }

  /** Waits, longer each time, and says so. */
  private async wait(writer: EventWriter, cursor: Cursor | undefined, error: Error): Promise<void> {
    this.logger.warn(`waiting: ${error.message}`);
    // It may be that the node takes too long for so many blocks, or silently tells of too few.
    this.source.shrink();
    if (error instanceof RpcUnavailable || !cursor) this.status.state = 'disconnected';
    await writer.beat(this.status.state, cursor);
    this.failures += 1;
    await this.pause(Math.min(100 * 2 ** this.failures, 5000));
  }

  /** @returns the cursor from which to go on */
  private async recover(writer: EventWriter, cursor: Cursor, trouble: Error): Promise<Cursor> {
    if (trouble instanceof Competing) return this.reconcile(writer, cursor, trouble);
    if (!(trouble instanceof Gap)) return cursor;
    this.status.gaps.inc();
    const number = this.numbering.completeUpTo(trouble);
    if (number >= cursor.number) return cursor;
    const block = (await writer.window()).find(is(number)) ?? (await this.source.block(number));
    if (!block) throw new NotThere(`block ${number}`);
    return this.rewindTo(writer, cursor, block);
  }

  /**
   * Follows a reorganisation: back to the newest block that both chains have, which is then read on from. A node that
   * lacks a block is behind: nothing is undone unless another block stands in its place.
   */
  private async reconcile(writer: EventWriter, cursor: Cursor, trouble: Competing): Promise<Cursor> {
    const window = await writer.window();
    const headers = await this.source.blocks(window.map(({ number }) => number));
    const found = window.findIndex(({ hash }, i) => headers[i]?.hash === hash);
    const ancestor = window[found];
    const competing = headers[found < 0 ? headers.length - 1 : found - 1];
    if (!competing) {
      await this.wait(writer, cursor, trouble);
      return cursor;
    }
    if (!ancestor || ancestor.number < cursor.number - WINDOW)
      return this.halt(writer, cursor, ancestor ? `changed deeper than ${WINDOW} blocks` : 'is another one');
    this.status.reorgs.inc();
    this.status.reorgDepth.observe(cursor.number - ancestor.number);
    return this.rewindTo(writer, cursor, ancestor);
  }

  private async rewindTo(writer: EventWriter, cursor: Cursor, block: Block): Promise<Cursor> {
    const { cursor: moved, undone } = await writer.rewind(cursor, block);
    this.numbering.rewound(block.number);
    await this.numbering.load(writer);
    this.status.undone.inc(undone);
    this.logger.warn(`from block ${cursor.number} back to ${block.number}: ${undone} events taken back`);
    return moved;
  }

  /** Stops following until a person rewinds; data stay as they are. */
  private async halt(writer: EventWriter, cursor: Cursor, reason: string): Promise<never> {
    this.status.state = 'halted';
    this.logger.error(
      `HALTED at block ${cursor.number}: the chain ${reason}. See to the node, or rewind --to N`,
    );
    while (!this.stopping) {
      await writer.beat('halted', cursor);
      await this.pause(2000);
    }
    throw new Error('stopped');
  }

  /** By hand: takes everything after block `number` back and, as events are kept, exactly. */
  async rewind(number: number): Promise<void> {
    await this.connected(async (client, writer) => {
      // A new epoch: whoever leads now finds its own ended and starts over from the new cursor.
      const cursor = await openCursor(client, writer, this.source, this.environment);
      if (number > cursor.number) throw new Error(`the cursor is at block ${cursor.number} only`);
      const last = await writer.eventBlock(number);
      const known = [...(await writer.window()).filter(is(number)), ...(last ? [last] : [])];
      const [block, ...headers] = await this.source.blocks([number, ...known.map((each) => each.number)]);
      if (!block) throw new Error(`the node has no block ${number}`);
      const other = known.find(({ hash }, i) => headers[i]?.hash !== hash);
      if (other) throw new Error(`the node has another block ${other.number}: rewind to before it`);
      await this.rewindTo(writer, cursor, block);
    });
  }

  private async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.wake.signal }).catch(() => undefined);
  }
}

const is =
  (number: number) =>
  (block: Pick<Block, 'number'>): boolean =>
    block.number === number;
