import { Injectable, Logger } from '@nestjs/common';
import { Histogram } from 'prom-client';
import { Metrics } from '#platform/operating/metrics';
import type { ChainCursor, CursorState } from '#indexer/ledger/chain-cursor';
import { WINDOW_BLOCKS } from '#indexer/reading/block-batch';
import type { ChainEvent } from '#indexer/reading/decode';
import { ENDPOINT_STATES, type EndpointState } from '#indexer/reading/watched-endpoint';
import { SyncState } from './sync-state';

/** Time between reports of progress. */
const REPORT_MS = 5000;

const CONTRACT_STATES = ['following', 'catching_up', 'quarantined', 'missing'] as const;

/** How it is known that no event of a contract is missing, as of the last batch. */
const WAYS = ['numbers', 'receipts', 'agreement'] as const;

/** Where a contract stands. */
export interface ContractStanding {
  address: string;
  state: (typeof CONTRACT_STATES)[number];
  /** The last block that was read for it, and why it is read apart. Undefined while it is followed. */
  block?: number;
  reason?: string;
  /** Undefined before the first batch. */
  completeness?: (typeof WAYS)[number];
  /** Why nothing but the agreement of endpoints says that no event is missing. */
  unproven?: string;
}

/** Metrics, health and progress of the indexer. */
@Injectable()
export class IndexerTelemetry extends Metrics {
  /** Role of this process. Only the leader knows how current the ledger is. */
  role: 'standby' | 'leading' | 'cut_off' = 'standby';
  /** Why it could not lead, the last time that it tried. */
  cutOffBy?: string;
  /** Contracts of the settings at whose addresses there is nothing. */
  missing: ReadonlySet<string> = new Set();
  /** The last final block, if any endpoint reports it. */
  finalized?: number;
  readonly progress = new Progress();
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
  private readonly expired = this.counter('indexer_expired_deposits_total', 'Pending deposits that expired');
  private readonly setAside = this.gauge(
    'indexer_set_aside_events',
    'Events stored without effect, by reason',
    'reason',
  );
  private readonly events = this.counter('indexer_events_total', 'Events applied, by kind', 'kind');
  private readonly range = this.gauge('indexer_range_size', 'Blocks in a request for logs');
  /** The state of each endpoint. */
  endpoints: () => { name: string; state: EndpointState }[] = () => [];
  /** Which contracts are followed, and which are detached. */
  contracts: () => ContractStanding[] = () => [];
  private readonly logger = new Logger('Follower');
  private isUnfinal = false;
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
    this.computed('indexer_leader', '1 while this process leads', () => Number(this.role === 'leading'));
    this.computed('indexer_cursor_block', 'Number of the last block read', cursor);
    this.computed('indexer_head_block', 'Number of the best known head', () => sync.best);
    this.computed('indexer_lag_blocks', 'Blocks between cursor and head', () =>
      Math.max(0, sync.best - (sync.cursor?.number ?? sync.best)),
    );
    this.computed('indexer_lag_seconds', 'Age of the last block read, in seconds', () => sync.headAge);
    this.computed('indexer_synced', '1 while the ledger is current', () => Number(this.state === 'synced'));
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

  /** Events that were applied, and how many did not fit, by kind. */
  took(events: ChainEvent[], anomalies: Map<string, number>): void {
    for (const { kind } of events) this.events.inc({ kind });
    for (const [kind, count] of anomalies) {
      this.anomalies.inc({ kind }, count);
      this.logger.warn(`${count} events do not fit what is known: ${kind}`);
    }
  }

  /** A batch was applied, up to the cursor. @param range blocks in a request for logs */
  applied(cursor: ChainCursor, range: number, events: number, expired: number): void {
    const { number, finalized } = cursor;
    if (finalized === undefined && !this.isUnfinal)
      this.logger.warn(
        `no endpoint says which blocks are final: the last ${WINDOW_BLOCKS} may change, a deeper change halts, and CONFIRMATIONS=safe or finalized waits`,
      );
    this.isUnfinal = finalized === undefined;
    this.range.set(range);
    this.expired.inc(expired);
    this.finalized = finalized;
    this.progress.moved(number, this.sync.best, events);
    if (this.state !== 'syncing' || Date.now() - this.reportedAt < REPORT_MS) return;
    this.reportedAt = Date.now();
    const { blocksPerSecond = 0, eventsPerSecond = 0, secondsLeft = null } = this.progress.speed ?? {};
    const left = secondsLeft === null ? 'the head is no nearer' : `${secondsLeft} s left`;
    const rate = `${blocksPerSecond} blocks/s, ${eventsPerSecond} events/s`;
    this.logger.log(`block ${number} of ${this.sync.best}, ${rate}, ${left}`);
  }

  /** Counts of the whole chain, so that they survive a restart. Only the leader knows them. */
  showSetAside(counts: Map<string, number>): void {
    this.setAside.reset();
    for (const [reason, count] of counts) this.setAside.set({ reason }, count);
  }

  /** Numbers of the last block read, of the best head, and of the last final block if any endpoint reports it. */
  get heights() {
    return { cursor: this.sync.cursor?.number ?? 0, head: this.sync.best, finalized: this.finalized };
  }

  /** The contracts whose events the ledger lacks, or may lack. */
  get apart(): ContractStanding[] {
    return this.contracts().filter(({ state, unproven }) => state !== 'following' || unproven !== undefined);
  }
}

/** The rate is that of about the last minute: one sample for each second. */
const SAMPLES = 60;
const SAMPLE_MS = 1000;

interface Sample {
  at: number;
  cursor: number;
  head: number;
  events: number;
}

/** How fast a history is read. */
interface Speed {
  blocksPerSecond: number;
  eventsPerSecond: number;
  /** Until the head is reached, which goes on meanwhile; null while the distance to it does not shrink. */
  secondsLeft: number | null;
}

/** How fast the ledger comes nearer to the head of the chain. */
export class Progress {
  private samples: Sample[] = [];

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** It starts over where blocks were taken back. @param events that were applied since the last call */
  moved(cursor: number, head: number, events: number): void {
    if (cursor < (this.samples.at(-1)?.cursor ?? 0)) this.samples = [];
    const [before, newest] = [this.samples.at(-2), this.samples.at(-1)];
    this.samples.push({ at: this.now(), cursor, head, events: (newest?.events ?? 0) + events });
    // The newest one is replaced until it is a second younger than the one before it.
    if (before && newest && newest.at - before.at < SAMPLE_MS) this.samples.splice(-2, 1);
    if (this.samples.length > SAMPLES) this.samples.shift();
  }

  /** Undefined until something was read. */
  get speed(): Speed | undefined {
    const [oldest, newest] = [this.samples[0], this.samples.at(-1)];
    if (!newest || newest.at === oldest.at) return undefined;
    // Where nothing comes any more it gets slower.
    const seconds = (this.now() - oldest.at) / 1000;
    const behind = ({ head, cursor }: Sample): number => Math.max(0, head - cursor);
    const nearer = (behind(oldest) - behind(newest)) / seconds;
    return {
      blocksPerSecond: round((newest.cursor - oldest.cursor) / seconds),
      eventsPerSecond: round((newest.events - oldest.events) / seconds),
      secondsLeft: behind(newest) === 0 ? 0 : nearer > 0 ? Math.ceil(behind(newest) / nearer) : null,
    };
  }
}

const round = (rate: number): number => Math.round(rate * 10) / 10;
