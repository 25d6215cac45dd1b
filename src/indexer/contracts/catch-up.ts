import { Injectable, Logger } from '@nestjs/common';
import { within } from '#platform/timing/waits';
import { IndexerSettings } from '#settings/indexer.settings';
import type { Reading } from '#indexer/agreement/reading';
import { RpcEndpoints } from '#indexer/agreement/rpc-endpoints';
import { SequenceFall, SequenceGap } from '#indexer/agreement/sequence-check';
import type { ChainCursor } from '#indexer/ledger/chain-cursor';
import { refusal } from '#indexer/ledger/set-aside';
import { type BlockBatch, ForkDetected, WrongEvents } from '#indexer/reading/block-batch';
import { RetryableChainError, isThrottled } from '#indexer/reading/rpc';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { IndexerTelemetry } from '#indexer/reporting/telemetry';
import { ContractStates } from './contract-states';
import type { Apart, Ledger } from './contract-writer';
import { Patience } from '#indexer/agreement/patience';

/** So close to the cursor the last blocks are read while the cursor waits, or a fast chain would always be ahead. */
const CLOSE_BLOCKS = 16;
/** But not for longer: an endpoint that hangs must not hold up the other contracts. */
const CLOSE_MS = 2000;
/** Wait after a failure. It doubles each time. */
const WAIT_MS = 250;
const MAX_WAIT_MS = 300_000;

type Outcome = { reading: Reading } | { error: unknown };

/** A read that is under way beside the cursor's. */
interface Read {
  apart: Apart;
  reader: WatchedEndpoint;
  outcome?: Outcome;
  done: Promise<void>;
}

/**
 * Reads the events of contracts apart, one batch after another and contract by contract in turns, with the same checks
 * as those of the others. It reads beside the cursor's loop, which gives it a turn to apply one batch after each of its
 * own.
 */
@Injectable()
export class CatchUp {
  private readonly logger = new Logger('Contracts');
  private readonly patience: Patience;
  private readonly waits = new Map<string, number>();
  /** How often reading on failed in a row, and behind which block. */
  private readonly failures = new Map<string, { tries: number; block: number }>();
  private read?: Read;
  /** The contract that had the last turn. */
  private last = '';

  constructor(
    readonly contracts: ContractStates,
    private readonly endpoints: RpcEndpoints,
    { QUARANTINE_AFTER }: IndexerSettings,
    private readonly telemetry: IndexerTelemetry,
  ) {
    this.patience = new Patience(QUARANTINE_AFTER * 1000);
  }

  /** Starts from what the database says. */
  async open(ledger: Ledger): Promise<void> {
    this.read = undefined;
    this.waits.clear();
    this.failures.clear();
    this.patience.forgetAll();
    this.contracts.passed.clear();
    this.contracts.barred = new Map();
    await this.contracts.load(ledger);
  }

  /** Settles when the read that is under way does; none if there is none. */
  get underWay(): Promise<void>[] {
    return this.read ? [this.read.done] : [];
  }

  /**
   * Applies what has been read, if it has, and reads on. Only a contract that is close to the cursor is waited for.
   * @param head the best head known
   * @returns whether a contract has joined those that the cursor stands for
   * @throws LeadershipLost, and what the database throws
   */
  async turn(ledger: Ledger, cursor: ChainCursor, head: number): Promise<boolean> {
    const { read } = this;
    if (read && !read.outcome) return false;
    this.read = undefined;
    // A reorganisation may have moved it meanwhile.
    const isValid = read && this.contracts.apart.get(read.apart.address) === read.apart;
    if (isValid && (await this.finish(ledger, cursor, head, read))) return true;
    const next = this.next(cursor);
    if (!next) return false;
    this.last = next.address;
    if (next.at.hash === cursor.hash) return this.join(ledger, cursor, head, next);
    if (next.at.number >= cursor.number) {
      // The ledger is on another branch, or before that block.
      if (!(await this.anchor(ledger, cursor, this.readerFor(next), next))) this.postpone(next);
      return false;
    }
    this.read = this.start(next, cursor);
    if (cursor.number - next.at.number > CLOSE_BLOCKS) return false;
    const close = this.read;
    await within(CLOSE_MS, close.done);
    if (!close.outcome) return false;
    this.read = undefined;
    return this.finish(ledger, cursor, head, close);
  }

  /** The next contract whose turn it is. One in quarantine has to show a further block that is whole. */
  private next(cursor: ChainCursor): Apart | undefined {
    const due = [...this.contracts.apart.values()].filter(
      ({ address, state, at }) =>
        (this.waits.get(address) ?? 0) <= performance.now() &&
        !this.contracts.barred.has(address) &&
        (state === 'catching_up' || cursor.number > (this.contracts.quarantinedAt.get(address) ?? at.number)),
    );
    return due.find(({ address }) => address > this.last) ?? due[0];
  }

  private readerFor({ address }: Apart): WatchedEndpoint {
    return this.endpoints.readerAside(this.failures.get(address)?.tries ?? 0);
  }

  private start(apart: Apart, cursor: ChainCursor): Read {
    const reader = this.readerFor(apart);
    const given = this.endpoints.read(apart.at, cursor.number, [apart.address], reader);
    const reading = given.then((found) => this.contracts.proofs.prove(found));
    const read: Read = { apart, reader, done: Promise.resolve() };
    read.done = reading.then(
      (found) => void (read.outcome = { reading: found }),
      (error: unknown) => void (read.outcome = { error }),
    );
    return read;
  }

  private async finish(
    ledger: Ledger,
    cursor: ChainCursor,
    head: number,
    { apart, reader, outcome }: Read,
  ): Promise<boolean> {
    try {
      if ('error' in outcome!) throw outcome.error;
      return await this.apply(ledger, cursor, head, apart, this.news(apart, outcome!.reading));
    } catch (error) {
      // What the database refuses is this contract's trouble, and must not end the reading of the others.
      if (!(error instanceof RetryableChainError) && refusal(error) === undefined) throw error;
      if (!isThrottled(error)) reader.about([apart.address]).range.shrink();
      const tries = this.postpone(apart);
      await this.fail(ledger, cursor, apart, error as Error);
      // The cursor follows a fork within two tries. Blocks that were not proven may lack the event that is missing.
      const isLost = (error instanceof ForkDetected || error instanceof SequenceGap) && tries > 2;
      if (isLost) await this.anchor(ledger, cursor, reader, apart);
      return false;
    }
  }

  private async anchor(
    ledger: Ledger,
    cursor: ChainCursor,
    reader: WatchedEndpoint,
    apart: Apart,
  ): Promise<boolean> {
    try {
      await this.contracts.anchor(ledger, cursor, reader, this.contracts.apart.get(apart.address) ?? apart);
      return true;
    } catch (error) {
      if (!(error instanceof RetryableChainError)) throw error;
      this.logger.warn(`${apart.address} cannot be read from before its last event: ${error.message}`);
      return false;
    }
  }

  private async join(ledger: Ledger, cursor: ChainCursor, head: number, apart: Apart): Promise<boolean> {
    const nothing = { to: cursor, blocks: [], events: [], contracts: [apart.address], counts: [undefined] };
    return this.advance(ledger, cursor, head, apart, nothing);
  }

  /** Without the events that the ledger has already: reading may begin before the last one. */
  private news({ address }: Apart, reading: Reading): Reading {
    const last = this.contracts.sequence.lastOf(address);
    const fresh = (batch: BlockBatch): BlockBatch => ({
      ...batch,
      counts: batch.to.number < last.block ? [undefined] : batch.counts,
      events: batch.events.filter(({ seq, blockNumber }) => seq > last.seq || blockNumber > last.block),
    });
    const testimonies = reading.testimonies.map((each) => ({
      ...each,
      batch: each.batch && fresh(each.batch),
    }));
    return { ...reading, batch: fresh(reading.batch), testimonies };
  }

  private async apply(
    ledger: Ledger,
    cursor: ChainCursor,
    head: number,
    apart: Apart,
    reading: Reading,
  ): Promise<boolean> {
    const { sequence } = this.contracts;
    sequence.check(reading.batch);
    const batch = this.endpoints.judge(reading, sequence);
    sequence.check(batch);
    return this.advance(ledger, cursor, head, apart, batch);
  }

  private async advance(
    ledger: Ledger,
    cursor: ChainCursor,
    head: number,
    apart: Apart,
    batch: BlockBatch,
  ): Promise<boolean> {
    const { address, state } = apart;
    const { sequence } = this.contracts;
    const proven = sequence.proves(batch);
    // Blocks before the one where it failed show nothing.
    const isFurther = batch.to.number > (this.failures.get(address)?.block ?? -1);
    const next = isFurther ? 'catching_up' : state;
    const stays = { ...apart, state: next };
    await this.contracts.passOver(ledger, batch);
    const { anomalies, joined } = await ledger.contracts.advance(cursor, head, stays, batch, proven);
    this.telemetry.took(batch.events, anomalies);
    if (isFurther || joined) {
      this.patience.forget(address);
      this.failures.delete(address);
    }
    this.waits.delete(address);
    sequence.advance(batch, false);
    if (joined) this.logger.log(`following ${address} again from block ${cursor.number}`);
    else if (next !== state) this.logger.log(`${address} is complete again, catching up`);
    if (joined || next !== state) await this.contracts.load(ledger);
    else apart.at = batch.to;
    return joined;
  }

  /** Has it tried again later, each time after a longer wait. @returns how often it has failed in a row */
  private postpone({ address, at }: Apart): number {
    const { tries, block } = this.failures.get(address) ?? { tries: 0, block: -1 };
    this.failures.set(address, { tries: tries + 1, block: Math.max(block, at.number) });
    this.waits.set(address, performance.now() + Math.min(WAIT_MS * 2 ** (tries + 1), MAX_WAIT_MS));
    return tries + 1;
  }

  /** Quarantines it if the contract itself is wrong, for long. An endpoint that fails is no fault of the contract. */
  private async fail(ledger: Ledger, cursor: ChainCursor, apart: Apart, error: Error): Promise<void> {
    const { address, at, state } = apart;
    this.logger.warn(`${address} catch-up failed at block ${at.number}; retrying: ${error.message}`);
    const isWrong =
      error instanceof WrongEvents || error instanceof SequenceFall || refusal(error) !== undefined;
    if (!isWrong || !this.patience.isOver(address) || state === 'quarantined') return;
    await ledger.contracts.setApart(cursor, address, at, 'quarantined', error.message);
    await this.contracts.load(ledger);
  }
}
