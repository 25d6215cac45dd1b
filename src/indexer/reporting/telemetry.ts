import { Injectable } from '@nestjs/common';
import { Histogram } from 'prom-client';
import { Metrics } from '#platform/operating/metrics';
import type { CursorState } from '#indexer/ledger/chain-cursor';
import type { ChainEvent } from '#indexer/reading/decode';
import { ENDPOINT_STATES, type EndpointState } from '#indexer/reading/watched-endpoint';
import type { Block } from '#indexer/reading/raw-chain';
import { CONTRACT_STATES, type ContractStanding, WAYS } from './contract-standing';
import { FinalityWatch } from './finality-watch';
import { Progress, type Speed } from './progress';
import { SyncState } from './sync-state';

/** Time between reports of progress, on a terminal and elsewhere. */
const REPORT_MS = { terminal: 200, log: 5000 };

/** Metrics, health and progress of the indexer. */
@Injectable()
export class IndexerTelemetry extends Metrics {
  /** Role of this process. Only the leader knows how current the ledger is. */
  role: 'standby' | 'leading' | 'cut_off' = 'standby';
  /** Why it could not lead, the last time that it tried. */
  cutOffBy?: string;
  /** Contracts of the settings at whose addresses there is nothing. */
  missing: ReadonlySet<string> = new Set();
  readonly finality = new FinalityWatch();
  readonly progress = new Progress();
  readonly leader = this.gauge('indexer_leader', '1 while this process leads');
  readonly reorgs = this.counter('indexer_reorgs_total', 'Reorganisations that were followed');
  readonly reorgDepth = new Histogram({
    name: 'indexer_reorg_depth',
    help: 'Blocks undone by a reorganisation',
    buckets: [1, 2, 4, 8, 16, 32, 64, 512, 4096],
    registers: [this.registry],
  });
  readonly undone = this.counter('indexer_undone_events_total', 'Events undone');
  readonly retries = this.counter(
    'indexer_retries_total',
    'Requests to the node that were repeated, by reason and endpoint',
    'kind',
    'endpoint',
  );
  readonly disagreements = this.counter(
    'indexer_endpoint_disagreements_total',
    'Answers of an endpoint that differ from those of the reader',
    'endpoint',
  );
  readonly gaps = this.counter('indexer_gaps_total', 'Gaps found in the event numbers');
  readonly unread = this.counter(
    'indexer_unread_logs_total',
    'Logs that no method of an adapter reads, by contract and topic',
    'contract',
    'topic',
  );
  readonly anomalies = this.counter(
    'indexer_anomalies_total',
    'Events that do not fit what is known, by kind',
    'kind',
  );
  readonly expired = this.counter('indexer_expired_deposits_total', 'Pending deposits that expired');
  private readonly setAside = this.gauge(
    'indexer_set_aside_events',
    'Events stored without effect, by reason',
    'reason',
  );
  private readonly events = this.counter('indexer_events_total', 'Events applied, by kind', 'kind');
  private readonly range = this.gauge('indexer_range_size', 'Blocks in a request for logs');
  private endpoints: () => { name: string; state: EndpointState }[] = () => [];
  private contracts: () => ContractStanding[] = () => [];
  private reportedAt = 0;

  constructor(readonly sync: SyncState) {
    super('savings_build_info');
    const cursor = (): number => sync.cursor?.number ?? 0;
    this.states(
      'indexer_endpoint_state',
      '1 for the current state of each endpoint',
      ['endpoint', 'state'],
      ENDPOINT_STATES,
      () => this.endpoints().map(({ name, state }) => [{ endpoint: name }, state]),
    );
    this.states(
      'indexer_contract_state',
      '1 for the current state of each contract',
      ['contract', 'state'],
      CONTRACT_STATES,
      () => this.contracts().map(({ address, state }) => [{ contract: address }, state]),
    );
    this.states(
      'indexer_contract_completeness',
      '1 for how it is known that no event of a contract is missing, as of the last blocks read',
      ['contract', 'by'],
      WAYS,
      () => this.contracts().map(({ address, completeness }) => [{ contract: address }, completeness]),
    );
    this.collected(
      'indexer_contract_lag_blocks',
      'Blocks between the last one read for a contract and the cursor',
      ['contract'],
      (gauge) => {
        for (const { address: contract, block = Infinity } of this.contracts())
          gauge.set({ contract }, Math.max(0, cursor() - block));
      },
    );
    this.computed('indexer_cursor_block', 'Number of the last block read', cursor);
    this.computed('indexer_head_block', 'Number of the best known head', () => sync.best);
    this.computed(
      'indexer_finalized_block',
      'Number of the last final block; 0 while no endpoint tells it',
      () => this.finality.finalized ?? 0,
    );
    this.computed('indexer_lag_blocks', 'Blocks between cursor and head', () =>
      Math.max(0, sync.best - (sync.cursor?.number ?? sync.best)),
    );
    this.computed('indexer_lag_seconds', 'Age of the last block read, in seconds', () => sync.headAge);
    this.computed('indexer_synced', '1 while the ledger is current', () => Number(this.state === 'synced'));
    this.computed(
      'indexer_blocks_per_second',
      'Blocks read a second, over a minute',
      () => this.progress.speed?.blocksPerSecond ?? 0,
    );
    this.computed(
      'indexer_events_per_second',
      'Events applied a second, over a minute',
      () => this.progress.speed?.eventsPerSecond ?? 0,
    );
    this.computed(
      'indexer_seconds_left',
      'Time until the head is reached at this rate; +Inf while it comes no nearer',
      () => (this.state === 'synced' ? 0 : (this.progress.speed?.secondsLeft ?? Infinity)),
    );
    this.computed(
      'indexer_progress_age_seconds',
      'Time since the cursor moved or was found at the head',
      () => (Date.now() - sync.progressAt) / 1000,
    );
  }

  get state(): CursorState | 'standby' {
    if (this.role === 'leading') return this.sync.state;
    return this.role === 'standby' ? 'standby' : 'disconnected';
  }

  /** Shows the state of each endpoint. */
  watchEndpoints(endpoints: () => { name: string; state: EndpointState }[]): void {
    this.endpoints = endpoints;
  }

  /** Shows which contracts are followed, and which are read apart. */
  watchContracts(standings: () => ContractStanding[]): void {
    this.contracts = standings;
  }

  /** Events that were applied for a contract apart. */
  caughtUp(events: ChainEvent[], anomalies: Map<string, number>): void {
    for (const { kind } of events) this.events.inc({ kind });
    for (const [kind, count] of anomalies) this.anomalies.inc({ kind }, count);
  }

  /** @returns a line for the log when one is due */
  applied(cursor: Block, range: number, events: ChainEvent[]): string | undefined {
    for (const { kind } of events) this.events.inc({ kind });
    this.range.set(range);
    this.progress.moved(cursor.number, this.sync.best, events.length);
    const terminal = process.stderr.isTTY;
    const isDue = Date.now() - this.reportedAt >= (terminal ? REPORT_MS.terminal : REPORT_MS.log);
    if (this.state !== 'syncing' || !isDue) return undefined;
    this.reportedAt = Date.now();
    const { line } = this.progress;
    if (!terminal) return line;
    process.stderr.write(`\r\x1b[K${line}`);
    return undefined;
  }

  /** Counts of the whole chain, so that they survive a restart. Only the leader knows them. */
  showSetAside(counts: Map<string, number>): void {
    this.setAside.reset();
    for (const [reason, count] of counts) this.setAside.set({ reason }, count);
  }

  /** Numbers of the last block read, of the best head, and of the last final block if any endpoint tells it. */
  get heights(): { cursor: number; head: number; finalized?: number } {
    const { finalized } = this.finality;
    const heights = { cursor: this.sync.cursor?.number ?? 0, head: this.sync.best };
    return finalized === undefined ? heights : { ...heights, finalized };
  }

  /** How fast the head is approached, while it is. */
  get speed(): { progress?: Speed } {
    const { speed } = this.progress;
    return speed && this.state === 'syncing' ? { progress: speed } : {};
  }

  /** The contracts whose events the ledger lacks, or may lack; nothing while there are none. */
  get apart(): { contracts?: ContractStanding[] } {
    const contracts = this.contracts().filter(
      ({ state, unproven }) => state !== 'following' || unproven !== undefined,
    );
    return contracts.length > 0 ? { contracts } : {};
  }
}
