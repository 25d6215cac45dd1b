import { Injectable, Logger } from '@nestjs/common';
import { within } from '#platform/timing/waits';
import { IndexerSettings } from '#settings/indexer.settings';
import { Patience } from '#indexer/agreement/patience';
import { type Reading, RpcEndpoints } from '#indexer/agreement/rpc-endpoints';
import { SequenceCheck, SequenceFall, SequenceGap } from '#indexer/agreement/sequence-check';
import type { ChainCursor } from '#indexer/ledger/chain-cursor';
import { refusal } from '#indexer/ledger/set-aside';
import {
  type BlockBatch,
  ForkDetected,
  NodeBehind,
  UnreadableEvents,
  WrongEvents,
} from '#indexer/reading/block-batch';
import { BlockProof } from '#indexer/proving/block-proof';
import type { Block } from '#indexer/reading/raw-chain';
import { RetryableChainError, isThrottled } from '#indexer/reading/rpc';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { type ContractStanding, IndexerTelemetry } from '#indexer/reporting/telemetry';
import type { Apart, ApartState, Ledger } from './contract-writer';

/** Topics of a contract that are reported individually: its code or its callers decide how many there are. */
const MOST_TOPICS = 20;
const NO_CODE = 'there is no contract at this address';
/** So close to the cursor the last blocks are read while the cursor waits, or a fast chain would always be ahead. */
const CLOSE_BLOCKS = 16;
/** But not for longer: an endpoint that hangs must not hold up the other contracts. */
const CLOSE_MS = 2000;
/** Wait after a failure. It doubles each time. */
const WAIT_MS = 250;
const MAX_WAIT_MS = 300_000;

/** How often reading a detached contract failed in a row, the last block after which it failed, and when it is retried. */
interface Trouble {
  tries: number;
  block: number;
  retryAt: number;
}

/** A read that runs alongside the cursor's. */
interface Read {
  apart: Apart;
  reader: WatchedEndpoint;
  outcome?: PromiseSettledResult<Reading>;
  done: Promise<void>;
}

/**
 * Decides which contracts are read with the cursor and which are detached: contracts that were added later, and those in
 * quarantine, whose events were wrong for long. Detached contracts take turns and pass the same checks. They are read
 * alongside the cursor's loop, which applies one of their batches after each of its own. Nothing is lost: each contract
 * is read from its last complete block and joins the others at the cursor's block.
 */
@Injectable()
export class Contracts {
  /** The contracts that the cursor stands for. */
  following: string[];
  readonly apart = new Map<string, Apart>();
  /** Contracts that cannot be followed, whatever their events, and why. */
  private barred: ReadonlyMap<string, string> = new Map();
  /** By contract, the topics of unread logs that this process has reported since it began to lead. */
  private readonly reported = new Map<string, Set<string>>();
  private readonly logger = new Logger('Contracts');
  private readonly patience: Patience;
  private readonly troubles = new Map<string, Trouble>();
  private ledger: Ledger;
  private read?: Read;
  /** The contract that was read last. */
  private last = '';

  constructor(
    private readonly endpoints: RpcEndpoints,
    readonly sequence: SequenceCheck,
    { QUARANTINE_AFTER }: IndexerSettings,
    private readonly telemetry: IndexerTelemetry,
    readonly proofs: BlockProof,
  ) {
    // Only the leader knows.
    telemetry.contracts = () => (telemetry.role === 'leading' ? this.standings : []);
    this.following = endpoints.contracts;
    this.patience = new Patience(QUARANTINE_AFTER * 1000);
  }

  /** Starts from what the database says. */
  async open(ledger: Ledger): Promise<void> {
    this.ledger = ledger;
    this.read = undefined;
    this.troubles.clear();
    this.patience.forgetAll();
    this.reported.clear();
    this.barred = new Map();
    await this.load();
  }

  /** Reads the state from the database. Needed whenever it was changed other than by reading on. */
  async load(): Promise<void> {
    await this.sequence.load(this.ledger.writer);
    this.apart.clear();
    for (const each of await this.ledger.contracts.apart()) this.apart.set(each.address, each);
    this.following = this.endpoints.contracts.filter((address) => !this.apart.has(address));
  }

  /** Where each contract stands, for health and metrics. */
  private get standings(): ContractStanding[] {
    return this.endpoints.contracts.map((address) => {
      const { state = 'following', at, reason } = this.apart.get(address) ?? {};
      if (this.telemetry.missing.has(address)) return { address, state: 'missing', reason: NO_CODE };
      return { address, state, block: at?.number, reason, ...this.proofs.standingOf(address) };
    });
  }

  /** Quarantines the contracts that cannot be followed. They stay so until a later call no longer names them. */
  async bar(
    cursor: ChainCursor,
    reader: WatchedEndpoint,
    barred: ReadonlyMap<string, string>,
  ): Promise<void> {
    for (const [contract, reason] of barred)
      if (this.apart.get(contract)?.reason !== reason)
        await this.separate(cursor, reader, contract, 'quarantined', reason);
    this.barred = barred;
  }

  /**
   * The batch that the endpoints vouch for and whose numbers fit, and whether it proves that no event is missing.
   * @throws SequenceGap, SequenceFall, Disagreement, NodeBehind
   */
  async accept(reading: Reading): Promise<{ batch: BlockBatch; proven: boolean }> {
    this.sequence.check(reading.batch);
    const batch = this.endpoints.judge(reading, this.sequence);
    const proven = this.sequence.check(batch);
    // Before it is applied: the cursor does not return to these logs.
    await this.passOver(batch);
    // The numbers of all followed contracts fit.
    if (!reading.isAside) for (const each of this.following) this.patience.forget(each);
    return { batch, proven };
  }

  /** Counts logs that no method reads, and logs each topic once. */
  private async passOver({ unread = [] }: BlockBatch): Promise<void> {
    for (const { contract, topic } of unread) {
      const known = this.reported.get(contract) ?? new Set();
      this.reported.set(contract, known);
      if (!known.has(topic) && known.size < MOST_TOPICS) {
        known.add(topic);
        await this.ledger.contracts.keepUnread(contract, topic);
        this.logger.log(`logs of ${contract} with the topic ${topic} have no effect: no method reads them`);
      }
      this.telemetry.unread.inc({ contract, topic: known.has(topic) ? topic : 'other' });
    }
  }

  /**
   * Handles events that are wrong, or cannot be read. The node is asked again; if that lasts, the other contracts go on.
   * If blocks were read that are not proven complete, the ledger may lack the missing event, and the contract is read
   * again from before its last one. Otherwise it is quarantined, but the last contract only for events that cannot be
   * read: if its events are wrong, the node is at fault.
   */
  async broken(
    cursor: ChainCursor,
    reader: WatchedEndpoint,
    trouble: WrongEvents | SequenceFall,
  ): Promise<void> {
    const { contract, message } = trouble;
    const isUnreadable = trouble instanceof UnreadableEvents;
    // Another endpoint may send readable events.
    if (isUnreadable) this.endpoints.failed(reader);
    else if (trouble instanceof WrongEvents) this.endpoints.contradictsItself(reader);
    const mayLack = trouble instanceof SequenceGap && !this.sequence.isProven(cursor.number);
    const isOnly = this.following.length === 1 && !isUnreadable && !mayLack;
    if (!this.patience.isOver(contract) || isOnly) return;
    this.endpoints.absolve();
    await this.separate(cursor, reader, contract, mayLack ? 'catching_up' : 'quarantined', message);
  }

  /** @param isLost whether what has been read of it so far may lack an event, or be of another branch */
  private async separate(
    cursor: ChainCursor,
    reader: WatchedEndpoint,
    contract: string,
    state: ApartState,
    reason: string,
    isLost = false,
  ): Promise<void> {
    const known = this.apart.get(contract);
    // What the ledger certainly has of it. One that came without events may have had some all the same.
    const isWhole = this.sequence.isProven(cursor.number) && this.sequence.lastOf(contract).seq > 0;
    const complete = known ? !isLost && known.at : isWhole && cursor;
    const at = complete || (await this.beforeLast(reader, contract));
    await this.ledger.contracts.setApart(cursor, contract, at, state, reason);
    // What broke it is in a later block than the cursor's.
    if (!known) this.troubles.set(contract, { tries: 0, block: cursor.number, retryAt: 0 });
    if (state !== known?.state) this.patience.forget(contract);
    await this.load();
    const line = `${contract} is ${state} from block ${at.number}, the other contracts go on: ${reason}`;
    if (state === 'quarantined') this.logger.error(line);
    else this.logger.warn(line);
  }

  /** The block before the contract's last event: there may be more events in that one. */
  private async beforeLast({ source }: WatchedEndpoint, contract: string): Promise<Block> {
    const { seq, block: last } = this.sequence.lastOf(contract);
    // The last event may have no row, for example if a vault makes shares for itself.
    const kept = seq > 0 ? await this.ledger.writer.eventBlock(last) : undefined;
    const block = kept?.number ?? last;
    const [at, next] = await source.blocks([Math.max(block - 1, 0), block]);
    if (!at) throw new NodeBehind(`the node lacks block ${block - 1}`);
    if (kept && (next?.hash !== kept.hash || next.parentHash !== at.hash))
      throw new NodeBehind(`the node has another block ${block} than the ledger`);
    return at;
  }

  /** Settles when the read that is under way does; none if there is none. */
  get underWay(): Promise<void>[] {
    return this.read ? [this.read.done] : [];
  }

  /**
   * Applies what has been read of detached contracts, and continues reading. It waits only for a contract that is close
   * to the cursor.
   * @param head the best head known
   * @returns whether a contract has joined those that the cursor stands for
   * @throws LeadershipLost, and what the database throws
   */
  async turn(cursor: ChainCursor, head: number): Promise<boolean> {
    const { read } = this;
    if (read && !read.outcome) return false;
    this.read = undefined;
    if (read && (await this.finish(cursor, head, read))) return true;
    const next = this.next(cursor);
    if (!next) return false;
    this.last = next.address;
    const started = (this.read = this.start(next, cursor));
    if (cursor.number - next.at.number > CLOSE_BLOCKS) return false;
    await within(CLOSE_MS, started.done);
    if (!started.outcome) return false;
    this.read = undefined;
    return this.finish(cursor, head, started);
  }

  /** The next contract whose turn it is. It has to show a block after the one where it failed. */
  private next(cursor: ChainCursor): Apart | undefined {
    const due = [...this.apart.values()].filter(({ address, at }) => {
      const { block = at.number, retryAt = 0 } = this.troubles.get(address) ?? {};
      return cursor.number > block && retryAt <= performance.now() && !this.barred.has(address);
    });
    return due.find(({ address }) => address > this.last) ?? due[0];
  }

  private start(apart: Apart, cursor: ChainCursor): Read {
    const reader = this.endpoints.readerAside(this.troubles.get(apart.address)?.tries ?? 0);
    const contracts = [apart.address];
    const plan = this.endpoints.plan(apart.at, cursor.number, contracts, reader);
    const given = this.endpoints.read(apart.at, plan, contracts, reader);
    const proven = given.then((reading) => this.proofs.prove(reading));
    const done = Promise.allSettled([proven]).then(([outcome]) => void (read.outcome = outcome));
    const read: Read = { apart, reader, done };
    return read;
  }

  private async finish(
    cursor: ChainCursor,
    head: number,
    { apart, reader, outcome }: Read,
  ): Promise<boolean> {
    // A reorganisation may have moved it meanwhile.
    if (this.apart.get(apart.address) !== apart) return false;
    try {
      if (outcome?.status !== 'fulfilled') throw outcome?.reason;
      return await this.advance(cursor, head, apart, this.news(apart, outcome.value));
    } catch (error) {
      // What the database refuses is this contract's trouble, and must not end the reading of the others.
      if (!(error instanceof RetryableChainError) && refusal(error) === undefined) throw error;
      if (!isThrottled(error)) reader.about([apart.address]).range.shrink();
      const tries = this.postpone(apart);
      const { address, at, state } = apart;
      const { message } = error as Error;
      this.logger.warn(`${address} catch-up failed at block ${at.number}; retrying: ${message}`);
      // An endpoint that fails is no fault of the contract.
      const isWrong = [WrongEvents, SequenceFall].some((kind) => error instanceof kind) || refusal(error);
      const isNew = isWrong && this.patience.isOver(address) && state !== 'quarantined';
      // The cursor follows a fork within two tries. Blocks that were not proven may lack the event that is missing.
      const isLost = (error instanceof ForkDetected || error instanceof SequenceGap) && tries > 2;
      if (isNew || isLost)
        await this.separate(cursor, reader, address, isNew ? 'quarantined' : state, message, isLost).catch(
          (failure: Error) => {
            if (!(failure instanceof RetryableChainError)) throw failure;
          },
        );
      return false;
    }
  }

  /** Without the events that the ledger has already: reading may begin before the last one. */
  private news({ address }: Apart, reading: Reading): Reading {
    const last = this.sequence.lastOf(address);
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

  private async advance(cursor: ChainCursor, head: number, apart: Apart, reading: Reading): Promise<boolean> {
    const { address } = apart;
    const { batch, proven } = await this.accept(reading);
    const { anomalies, joined } = await this.ledger.contracts.advance(cursor, head, apart, batch, proven);
    this.telemetry.took(batch.events, anomalies);
    // Blocks before the one where it failed show nothing.
    if (joined || batch.to.number > (this.troubles.get(address)?.block ?? -1)) {
      this.patience.forget(address);
      this.troubles.delete(address);
    }
    this.sequence.advance(batch, false);
    apart.at = batch.to;
    if (!joined) return false;
    this.logger.log(`following ${address} again from block ${cursor.number}`);
    await this.load();
    return true;
  }

  /** Schedules another attempt, each time after a longer wait. @returns how often it has failed in a row */
  private postpone({ address, at }: Apart): number {
    const { tries, block } = this.troubles.get(address) ?? { tries: 0, block: -1 };
    const retryAt = performance.now() + Math.min(WAIT_MS * 2 ** (tries + 1), MAX_WAIT_MS);
    this.troubles.set(address, { tries: tries + 1, block: Math.max(block, at.number), retryAt });
    return tries + 1;
  }
}
