import { Injectable, Logger } from '@nestjs/common';
import { IndexerSettings } from '#settings/indexer.settings';
import { ContractAdapters } from '#indexer/adapters/contract-adapters';
import { Patience } from '#indexer/agreement/patience';
import { type Reading, RpcEndpoints } from '#indexer/agreement/rpc-endpoints';
import { askReceipts } from '#indexer/reading/ask-receipts';
import { type BlockBatch, WrongEvents, inOrder } from '#indexer/reading/block-batch';
import type { ChainEvent } from '#indexer/reading/decode';
import { MalformedAnswer } from '#indexer/reading/raw-chain';
import type { ContractStanding } from '#indexer/reporting/telemetry';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { type RawHeader, isAuthentic, isEmptyBloom, mayHaveLogsOf } from './header';
import { EMPTY_ROOT, type ProvenReceipts, eventsOf, provenReceipts } from './receipts-root';

type Standing = Pick<ContractStanding, 'completeness' | 'unproven'>;

/** What receipts prove of an event besides its position. Only nodes vouch for hashes of transactions. */
const contentOf = (event: ChainEvent): string =>
  JSON.stringify({
    ...event,
    ...{ txHash: '', logIndex: 0, seq: 0 },
    ...(event.second && { second: contentOf(event.second) }),
  });
const contentsOf = (events: ChainEvent[]): string => JSON.stringify(events.map(contentOf).sort());

/** Trouble is of the chain here, not of a contract. */
const CHAIN = 'chain';

/**
 * Proves that a batch has all events of contracts that do not number them. The hash of a block covers its header; the
 * header's bloom proves that there are none of a contract, or its root of receipts that these are all. Some chains have
 * other headers, no bloom or receipts of their own: nothing is proven there, and that is told. What was once proven
 * for a chain has to be so in all further blocks, so that a node that lies does not look like such a chain.
 */
@Injectable()
export class BlockProof {
  private readonly logger = new Logger('Proofs');
  private readonly patience: Patience;
  /** What is known of the chain: headers have the hash of their fields, blooms are filled in, roots are of receipts. */
  private chain = { hashes: false, blooms: false, roots: false };
  /** Blooms are filled in, but not with all logs. */
  private bloomsLie = false;
  private readonly standings = new Map<string, Standing>();

  constructor(
    private readonly endpoints: RpcEndpoints,
    { QUARANTINE_AFTER }: IndexerSettings,
    private readonly adapters: ContractAdapters,
  ) {
    this.patience = new Patience(QUARANTINE_AFTER * 1000);
  }

  /** How the contract's last batch was found to be whole; undefined before the first. */
  standingOf(contract: string): Standing | undefined {
    return this.standings.get(contract);
  }

  /**
   * Near the head, where all headers are read, proves the events of contracts that do not number them.
   * @returns the reading, with the contracts of which all is proven
   * @throws WrongEvents when the reader's events are proven wrong, MalformedAnswer when what it sent to prove them is
   */
  async prove(reading: Reading): Promise<Reading> {
    const { reader, batch } = reading;
    const unnumbered: string[] = [];
    batch.contracts.forEach((contract, i) => {
      const isNumbered = this.adapters.of(contract)?.isNumbered ?? true;
      if (batch.counts[i] === null || !isNumbered) unnumbered.push(contract);
      else if (batch.counts[i] !== undefined) this.standings.set(contract, { completeness: 'numbers' });
    });
    if (unnumbered.length === 0) return reading;
    const { headers = [] } = batch;
    const { unproven, events } =
      headers.length > 0
        ? await this.check(reader, batch, headers, unnumbered)
        : { unproven: 'far from the head', events: batch.events };
    const standing: Standing =
      unproven === undefined ? { completeness: 'receipts' } : { completeness: 'agreement', unproven };
    for (const contract of unnumbered) this.standings.set(contract, standing);
    const proven = new Set(unproven === undefined ? unnumbered : []);
    return { ...reading, batch: { ...batch, events }, proven };
  }

  /** @returns the events in the order of the receipts, and the reason if they are not proven */
  private async check(
    reader: WatchedEndpoint,
    batch: BlockBatch,
    headers: RawHeader[],
    contracts: string[],
  ): Promise<{ unproven?: string; events: ChainEvent[] }> {
    let { events } = batch;
    const altered = headers.find((header) => !isAuthentic(header));
    if (altered) {
      this.mustHold(
        'hashes',
        `the header of block ${Number(altered.number)} does not have the hash of its fields`,
      );
      return { unproven: 'headers of this chain have fields of their own', events };
    }
    this.chain.hashes = true;
    this.chain.blooms ||= headers.some(({ logsBloom }) => !isEmptyBloom(String(logsBloom)));
    for (const header of headers) {
      const own = events.filter(({ blockNumber }) => blockNumber === Number(header.number));
      const open = contracts.filter(
        (contract) => own.some((event) => event.contract === contract) || this.mayHaveLogs(header, contract),
      );
      if (open.length === 0) continue;
      const receipts = await this.receipts(reader, header);
      if (!receipts)
        return { unproven: 'receipts of this chain are hidden, or encoded in a way of their own', events };
      for (const contract of open) events = this.placed(contract, header, receipts, events);
    }
    this.patience.forgetAll();
    return { events: inOrder(events) };
  }

  /** A chain that fills in no bloom at all proves nothing by one. */
  private mayHaveLogs({ receiptsRoot, logsBloom }: RawHeader, contract: string): boolean {
    if (receiptsRoot === EMPTY_ROOT) return false;
    return !this.chain.blooms || this.bloomsLie || mayHaveLogsOf(contract, String(logsBloom));
  }

  /** The block's receipts, from any endpoint: nobody can make up some that have the header's root. */
  private async receipts(reader: WatchedEndpoint, header: RawHeader): Promise<ProvenReceipts | undefined> {
    const others = this.endpoints.all.filter((each) => each !== reader && each.heard);
    let wrong: WatchedEndpoint | undefined;
    for (const endpoint of [reader, ...others]) {
      for await (const given of askReceipts(endpoint.source.rpc, header)) {
        const receipts = await provenReceipts(header, given);
        if (receipts) {
          this.chain.roots = true;
          return receipts;
        }
        wrong ??= endpoint;
      }
    }
    if (wrong)
      this.mustHold(
        'roots',
        `the receipts of block ${Number(header.number)} from ${wrong.name} are not all of it`,
      );
    return undefined;
  }

  /** Puts the contract's events of a block into the order of the receipts. @throws WrongEvents if they differ */
  private placed(
    contract: string,
    header: RawHeader,
    receipts: ProvenReceipts,
    events: ChainEvent[],
  ): ChainEvent[] {
    const proven = eventsOf(contract, header, receipts, this.adapters.decode);
    // Nobody can prove events outside of transactions, or that there are none.
    const isOwn = (event: ChainEvent): boolean =>
      event.contract === contract &&
      event.blockNumber === Number(header.number) &&
      event.txHash !== receipts.outside;
    if (proven.length > 0 && !mayHaveLogsOf(contract, String(header.logsBloom))) {
      this.bloomsLie = true;
      this.logger.warn('blooms of this chain leave out logs: all receipts are read instead');
    }
    const own = events.filter(isOwn);
    // Those of the receipts have the right positions: some nodes count logs per transaction, or from 1.
    if (contentsOf(own) === contentsOf(proven))
      return [...events.filter((event) => !isOwn(event)), ...proven];
    const found = `${own.length} instead of ${proven.length}`;
    const what = own.length < proven.length ? 'are left out' : 'are not those of the receipts';
    throw new WrongEvents(
      contract,
      `events of ${contract} ${what} in block ${Number(header.number)}: ${found}`,
    );
  }

  /**
   * What was once true of this chain no longer is. The node lies, or a hard fork changed the chain: then it stays so, and
   * reading must not end for good. @throws MalformedAnswer
   */
  private mustHold(what: keyof BlockProof['chain'], trouble: string): void {
    if (!this.chain[what]) return;
    if (!this.patience.isOver(CHAIN)) throw new MalformedAnswer(trouble);
    this.chain[what] = false;
    this.patience.forget(CHAIN);
    this.logger.error(`completeness can no longer be proven: ${trouble}`);
  }
}
