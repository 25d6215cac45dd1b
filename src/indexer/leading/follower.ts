import { Injectable, Logger } from '@nestjs/common';
import { requireSchema } from '#platform/migrating/schema';
import { atMostEvery } from '#platform/timing/at-most-every';
import { pause } from '#platform/timing/waits';
import { Disagreement } from '#indexer/agreement/vote';
import type { Heads } from '#indexer/agreement/heads';
import { RpcEndpoints } from '#indexer/agreement/rpc-endpoints';
import { SequenceFall } from '#indexer/agreement/sequence-check';
import { Contracts } from '#indexer/contracts/contracts';
import type { ChainCursor, Standing } from '#indexer/ledger/chain-cursor';
import type { EventWriter } from '#indexer/ledger/event-writer';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { type Block, MalformedAnswer } from '#indexer/reading/raw-chain';
import { RpcError, RpcUnavailable, isThrottled } from '#indexer/reading/rpc';
import { type BlockBatch, ForkDetected, WINDOW_BLOCKS, WrongEvents } from '#indexer/reading/block-batch';
import { SYNCED_WITHIN_BLOCKS } from '#indexer/reporting/sync-state';
import { IndexerTelemetry } from '#indexer/reporting/telemetry';
import type { Lead } from './leader';
import { Preflight } from './preflight';
import { ReadAhead } from './read-ahead';
import { Halted, Recovery, mayPass } from './recovery';

/** A later version may have changed the schema for good while this one follows the chain. */
const SCHEMA_LOOK_MS = 3000;
/** Time between heartbeats during long reads. */
const BEAT_MS = 3000;
/** Time between checks whether the cause of a halt is gone. */
const HALTED_POLL_MS = 2000;
const MAX_WAIT_MS = 5000;
/** After so many failures in a row, another endpoint is tried. */
const FAILURES_TO_LEAVE = 4;

/**
 * The leader's loop: reads the next blocks, checks them and applies them. Whatever fails, the database has the state as
 * of one block of the chain, and the loop goes on from there.
 */
@Injectable()
export class Follower {
  private readonly logger = new Logger(Follower.name);
  private writer: EventWriter;
  private reader: WatchedEndpoint;
  private signal: AbortSignal;
  private failures = 0;
  private readonly ahead: ReadAhead;

  constructor(
    private readonly preflight: Preflight,
    private readonly endpoints: RpcEndpoints,
    private readonly contracts: Contracts,
    private readonly recovery: Recovery,
    private readonly telemetry: IndexerTelemetry,
  ) {
    this.ahead = new ReadAhead(endpoints);
  }

  private get sync(): IndexerTelemetry['sync'] {
    return this.telemetry.sync;
  }

  /** Follows the chain until stopped. @throws WrongChain, LeadershipLost, and whatever the database throws */
  async lead(lead: Lead, signal: AbortSignal): Promise<void> {
    this.writer = lead.writer;
    this.signal = signal;
    this.telemetry.role = 'leading';
    const requireFit = atMostEvery(SCHEMA_LOOK_MS, () => requireSchema(lead.client));
    let cursor: ChainCursor | undefined;
    let trouble: Error | undefined;
    while (!this.signal.aborted) {
      try {
        await requireFit();
        cursor ??= await this.open(lead);
        if (trouble) cursor = await this.recover(cursor, trouble);
        trouble = undefined;
        cursor = await this.step(cursor);
        this.failures = 0;
      } catch (error) {
        if (error instanceof Halted) {
          await this.halt(cursor!, error);
          continue;
        }
        if (!mayPass(error)) throw error;
        const repeated = error instanceof ForkDetected && trouble instanceof ForkDetected;
        trouble = error;
        this.ahead.failed(error);
        if (!(error instanceof ForkDetected) || repeated) await this.wait(cursor, error);
      }
    }
  }

  private async open(lead: Lead): Promise<ChainCursor> {
    const { writer } = this;
    this.ahead.clear();
    const known = await writer.knownChain();
    this.reader = await this.endpoints.identify(known);
    const cursor = await this.preflight.open(lead, this.reader);
    await this.contracts.open(lead);
    this.telemetry.showSetAside(await writer.setAside());
    this.sync.chainId = this.reader.identity?.chainId;
    this.logger.log(`leading from block ${cursor.number}`);
    this.sync.start(cursor, known?.head ?? 0, await this.fillWindow(writer, cursor));
    return cursor;
  }

  /** Applies the next batch, if there is one. */
  private async step(cursor: ChainCursor): Promise<ChainCursor> {
    await this.contracts.bar(cursor, this.reader, this.preflight.barred);
    const heads = await this.ahead.askForHeads(cursor, this.contracts.following);
    const { upTo, best } = heads;
    this.reader = heads.reader;
    this.sync.seen(best);
    if (this.preflight.refusal) throw this.preflight.refusal;
    const hasJoined = await this.beating(cursor, this.contracts.turn(cursor, best));
    // What was read ahead lacks the events of a contract that has joined.
    if (hasJoined) this.ahead.clear();
    if (upTo <= cursor.number && !this.ahead.has(cursor)) return this.rest(cursor, heads);
    const next = this.ahead.take(cursor, upTo, this.contracts.following);
    const given = await this.beating(cursor, next);
    this.reader = given.reader;
    const reading = await this.beating(cursor, this.contracts.proofs.prove(given));
    const { batch, proven } = await this.contracts.accept(reading);
    // Read the next batch while this one is written.
    if (batch.to.number < upTo) this.ahead.prepare(batch.to, upTo, this.contracts.following);
    const { marks, proven: byReceipts } = reading;
    const moved = await this.apply(cursor, batch, { proven, byReceipts, progressed: true, marks });
    this.contracts.sequence.advance(batch, proven);
    return moved;
  }

  /** There is nothing to read: the chain has no new block, or the node is behind or on another branch. */
  private async rest(cursor: ChainCursor, heads: Heads): Promise<ChainCursor> {
    const { head, best, highest, marks } = heads;
    await this.recovery.requireSameBranch(this.writer, cursor, head);
    const atHead =
      highest >= cursor.number - SYNCED_WITHIN_BLOCKS && cursor.number >= best - SYNCED_WITHIN_BLOCKS;
    const nothing = { to: cursor, blocks: [], events: [], contracts: [], counts: [] };
    const moved = await this.apply(cursor, nothing, { progressed: atHead, marks });
    const wait = Promise.race([pause(this.sync.waitForNext(), this.signal), ...this.contracts.underWay]);
    await this.beating(moved, wait);
    return moved;
  }

  private async apply(
    cursor: ChainCursor,
    batch: BlockBatch,
    outcome: Omit<Standing, 'state' | 'head'>,
  ): Promise<ChainCursor> {
    if (outcome.progressed) this.sync.progressed(batch.to, batch.blocks);
    // A cursor that stands for no contract says nothing of the ledger.
    if (this.contracts.following.length === 0) this.sync.doubt();
    const standing = { ...outcome, state: this.sync.state, head: this.sync.best };
    const { cursor: moved, anomalies, expired, setAside } = await this.writer.apply(cursor, batch, standing);
    this.telemetry.took(batch.events, anomalies);
    this.telemetry.showSetAside(setAside);
    const { range } = this.reader.about(this.contracts.following);
    this.telemetry.applied(moved, range.blocks, batch.events.length, expired);
    return moved;
  }

  /** Sends heartbeats during the work: standbys take a leader without them for dead. */
  private async beating<T>(cursor: ChainCursor, work: Promise<T>): Promise<T> {
    const beat = (): unknown => this.writer.beat(this.sync.state, cursor).catch(() => undefined);
    const timer = setInterval(beat, BEAT_MS);
    return work.finally(() => clearInterval(timer));
  }

  /** Logs the error, and waits longer each time. */
  private async wait(cursor: ChainCursor | undefined, error: Error): Promise<void> {
    this.logger.warn(`waiting: ${error.message}`);
    this.failures += 1;
    // The range may be too large for the node: it may time out, or silently leave out blocks.
    if (!isThrottled(error) && !(error instanceof RpcError))
      this.reader?.about(this.contracts.following).range.shrink();
    const refused = [RpcUnavailable, RpcError, MalformedAnswer].some((kind) => error instanceof kind);
    const elsewhere = error instanceof Disagreement || error instanceof WrongEvents;
    if (elsewhere) this.sync.doubt();
    const leaves = !elsewhere && (refused || this.failures % FAILURES_TO_LEAVE === 0);
    const isLeft = this.reader && leaves && this.endpoints.failed(this.reader);
    if (refused && !isLeft) this.sync.cutOff();
    await this.writer.beat(this.sync.state, cursor);
    await pause(Math.min(100 * 2 ** this.failures, MAX_WAIT_MS), this.signal);
  }

  /** @returns the cursor from which to go on */
  private async recover(cursor: ChainCursor, trouble: Error): Promise<ChainCursor> {
    const { recovery, reader, writer } = this;
    if (trouble instanceof WrongEvents) this.telemetry.gaps.inc();
    if (trouble instanceof WrongEvents || trouble instanceof SequenceFall)
      await this.beating(cursor, this.contracts.broken(cursor, reader, trouble));
    if (!(trouble instanceof ForkDetected)) return cursor;
    const moved = await recovery.followFork(writer, cursor, reader);
    // Contracts apart may have been taken back too.
    await this.contracts.load();
    // The best head is no longer on the chain.
    this.sync.start(moved, moved.number, await this.fillWindow(writer, moved));
    return moved;
  }

  private fillWindow(writer: EventWriter, cursor: ChainCursor): Promise<Block[]> {
    return this.beating(cursor, this.recovery.fillWindow(writer, cursor));
  }

  /** Stops following until the operator rewinds, or the node has our block again. The data are not changed. */
  private async halt(cursor: ChainCursor, { message, ours }: Halted): Promise<void> {
    this.sync.halt();
    this.logger.error(`HALTED at block ${cursor.number}: ${message}`);
    while (!this.signal.aborted) {
      await this.writer.beat('halted', cursor);
      await pause(HALTED_POLL_MS, this.signal);
      const [again] = await this.reader.source.blocks([cursor.number]).catch(() => []);
      if (again?.hash !== ours) continue;
      this.logger.warn(`resumed: the node has block ${cursor.number} again`);
      this.sync.start(cursor, this.sync.best, await this.writer.blocks.newest(WINDOW_BLOCKS));
      return;
    }
  }
}
