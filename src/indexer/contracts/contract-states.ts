import { Injectable, Logger } from '@nestjs/common';
import { IndexerSettings } from '#settings/indexer.settings';
import { RpcEndpoints } from '#indexer/agreement/rpc-endpoints';
import { SequenceCheck, type SequenceFall, SequenceGap } from '#indexer/agreement/sequence-check';
import type { ChainCursor } from '#indexer/ledger/chain-cursor';
import { type BlockBatch, NodeBehind, UnreadableEvents, WrongEvents } from '#indexer/reading/block-batch';
import { BlockProof } from '#indexer/proving/block-proof';
import type { Block } from '#indexer/reading/raw-chain';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { type ContractStanding, IndexerTelemetry } from '#indexer/reporting/telemetry';
import type { Apart, ApartState, Ledger } from './contract-writer';
import { Patience } from '#indexer/agreement/patience';

/** Topics of a contract that are reported individually: its code or its callers decide how many there are. */
const MOST_TOPICS = 20;
const NO_CODE = 'there is no contract at this address';

/**
 * Which contracts are read with the cursor, and which apart. One whose event numbers are wrong for long is quarantined:
 * the others go on without it. Nothing of it is lost, as it is read again from its last block that was whole.
 */
@Injectable()
export class ContractStates {
  /** The contracts that the cursor stands for. */
  following: string[];
  readonly apart = new Map<string, Apart>();
  /** By contract, the cursor's block when it was quarantined. What broke it is in a later block. */
  readonly quarantinedAt = new Map<string, number>();
  /** Contracts that cannot be followed, whatever their events, and why. */
  barred: ReadonlyMap<string, string> = new Map();
  /** By contract, the topics of unread logs that this process has reported since it began to lead. */
  readonly passed = new Map<string, Set<string>>();
  private readonly logger = new Logger('Contracts');
  private readonly patience: Patience;

  constructor(
    private readonly endpoints: RpcEndpoints,
    readonly sequence: SequenceCheck,
    { QUARANTINE_AFTER }: IndexerSettings,
    private readonly telemetry: IndexerTelemetry,
    readonly proofs: BlockProof,
  ) {
    // Only who leads knows.
    telemetry.watchContracts(() => (telemetry.role === 'leading' ? this.standings : []));
    this.following = endpoints.contracts;
    this.patience = new Patience(QUARANTINE_AFTER * 1000);
  }

  /** Reads the state from the database. Needed whenever it was changed other than by reading on. */
  async load({ writer, contracts }: Ledger): Promise<void> {
    await this.sequence.load(writer);
    this.apart.clear();
    for (const each of await contracts.apart()) this.apart.set(each.address, each);
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

  /** The numbers of all contracts that are followed fit. */
  areSound(): void {
    this.patience.forgetAll();
  }

  /** Quarantines the contracts that cannot be followed. They stay so until a later call no longer names them. */
  async bar(
    ledger: Ledger,
    cursor: ChainCursor,
    reader: WatchedEndpoint,
    barred: ReadonlyMap<string, string>,
  ): Promise<void> {
    if (barred === this.barred) return;
    for (const [contract, reason] of barred)
      if (this.apart.get(contract)?.reason !== reason)
        await this.separate(ledger, cursor, reader, contract, 'quarantined', reason);
    this.barred = barred;
  }

  /** Counts logs that no method reads, and logs each topic once. Call before the batch is applied. */
  async passOver({ contracts }: Ledger, { unread = [] }: BlockBatch): Promise<void> {
    for (const { contract, topic } of unread) {
      const told = this.passed.get(contract) ?? new Set();
      this.passed.set(contract, told);
      if (!told.has(topic) && told.size < MOST_TOPICS) {
        told.add(topic);
        await contracts.keepUnread(contract, topic);
        this.logger.log(`logs of ${contract} with the topic ${topic} have no effect: no method reads them`);
      }
      this.telemetry.unread.inc({ contract, topic: told.has(topic) ? topic : 'other' });
    }
  }

  /**
   * Handles events that are wrong, or cannot be read. If the missing event is in a block that was read but not proven
   * complete, the ledger lacks it, and the contract is read again from there. Otherwise the node left it out and is
   * asked again; if that lasts, the contract is quarantined. The last contract is quarantined only for events that
   * cannot be read: if its events are wrong, the node is at fault.
   * @returns whether the contract is apart now
   */
  async broken(
    ledger: Ledger,
    cursor: ChainCursor,
    reader: WatchedEndpoint,
    trouble: WrongEvents | SequenceFall,
  ): Promise<boolean> {
    const { contract, message } = trouble;
    const isGap = trouble instanceof SequenceGap;
    const missed = isGap ? await this.missed(cursor, reader, trouble) : undefined;
    const isUnreadable = trouble instanceof UnreadableEvents;
    // Another endpoint may send readable events.
    if (isUnreadable) this.endpoints.failed(reader);
    else if (!isGap && trouble instanceof WrongEvents) this.endpoints.contradictsItself(reader);
    if (missed !== undefined) {
      const reason = `event ${isGap ? trouble.seq + 1 : ''} in block ${missed} was missed`;
      await this.separate(ledger, cursor, reader, contract, 'catching_up', reason);
      return true;
    }
    const isOnly = this.following.length === 1 && !isUnreadable;
    if (!this.patience.isOver(contract) || isOnly) return false;
    this.endpoints.absolve();
    await this.separate(ledger, cursor, reader, contract, 'quarantined', message);
    return true;
  }

  /** The block that has the event which the ledger lacks. */
  private async missed(
    cursor: ChainCursor,
    reader: WatchedEndpoint,
    gap: SequenceGap,
  ): Promise<number | undefined> {
    const wanted = this.sequence.unproven(gap);
    if (wanted && wanted.from <= cursor.number) {
      const { seq, from } = wanted;
      const event = await reader.source.findEvent(gap.contract, seq, from, cursor.number);
      if (event) return event.blockNumber;
    }
    // It shows a later number, and not this one.
    this.endpoints.contradictsItself(reader);
    return undefined;
  }

  private async separate(
    ledger: Ledger,
    cursor: ChainCursor,
    reader: WatchedEndpoint,
    contract: string,
    state: ApartState,
    reason: string,
  ): Promise<void> {
    // What the ledger certainly has of it. One that came without events may have had some all the same.
    const isWhole = this.sequence.isProven(cursor.number) && this.sequence.lastOf(contract).seq > 0;
    const known = this.apart.get(contract)?.at;
    const at = known ?? (isWhole ? cursor : await this.beforeLast(ledger, reader, contract));
    await ledger.contracts.setApart(cursor, contract, at, state, reason);
    if (state === 'quarantined') this.quarantinedAt.set(contract, cursor.number);
    this.patience.forget(contract);
    await this.load(ledger);
    const line = `${contract} is ${state} from block ${at.number}, the other contracts go on: ${reason}`;
    if (state === 'quarantined') this.logger.error(line);
    else this.logger.warn(line);
  }

  /**
   * Reads a contract apart from before its last event again: where it stood is not on the ledger's branch, as another
   * version that does not know of contracts apart has moved the cursor.
   */
  async anchor(
    ledger: Ledger,
    cursor: ChainCursor,
    reader: WatchedEndpoint,
    { address, state, reason }: Apart,
  ): Promise<void> {
    const at = await this.beforeLast(ledger, reader, address);
    await ledger.contracts.setApart(cursor, address, at, state, reason);
    await this.load(ledger);
  }

  /** The block before the contract's last event: there may be more events in that one. */
  private async beforeLast(
    { writer }: Ledger,
    { source }: WatchedEndpoint,
    contract: string,
  ): Promise<Block> {
    const { seq, block: last } = this.sequence.lastOf(contract);
    // The last event may have no row, for example if a vault makes shares for itself.
    const kept = seq > 0 ? await writer.eventBlock(last) : undefined;
    const block = kept?.number ?? last;
    const [at, next] = await source.blocks([Math.max(block - 1, 0), block]);
    if (!at) throw new NodeBehind(`the node lacks block ${block - 1}`);
    if (kept && (next?.hash !== kept.hash || next.parentHash !== at.hash))
      throw new NodeBehind(`the node has another block ${block} than the ledger`);
    return at;
  }
}
