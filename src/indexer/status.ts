import { type Server, createServer } from 'node:http';
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import { bears } from '../common/bearer';
import type { Environment } from '../config/environment';
import type { ChainEvent } from './decode';
import type { CursorState } from './event-writer';

type Listening = Pick<Environment, 'INDEXER_PORT' | 'HOST' | 'METRICS_TOKEN'>;

/** Time in ms between reports of progress, on a terminal and elsewhere. */
const REPORT = { terminal: 200, log: 5000 };

/** What the indexer tells of itself: metrics, health and progress. */
export class Status {
  state: CursorState | 'standby' = 'standby';
  readonly registry = new Registry();
  readonly leader = this.gauge('indexer_leader', '1 while this process leads');
  readonly reorgs = this.counter('indexer_reorgs_total', 'Reorganisations followed');
  readonly reorgDepth = new Histogram({
    name: 'indexer_reorg_depth',
    help: 'Blocks taken back by a reorganisation',
    buckets: [1, 2, 4, 8, 16, 32, 64],
    registers: [this.registry],
  });
  readonly undone = this.counter('indexer_undone_events_total', 'Events taken back');
  readonly retries = this.counter(
    'indexer_retries_total',
    'Repeated requests to the node, by reason',
    'kind',
  );
  readonly gaps = this.counter('indexer_gaps_total', 'Holes seen in the numbering of events');
  readonly anomalies = this.counter(
    'indexer_anomalies_total',
    'Events that do not fit what is known, by kind',
    'kind',
  );
  readonly expired = this.counter('indexer_expired_deposits_total', 'Pending deposits that expired');
  private readonly setAside = this.gauge(
    'indexer_set_aside_events',
    'Events kept without effect, by reason',
    'reason',
  );
  private readonly events = this.counter('indexer_events_total', 'Events applied, by kind', 'kind');
  private readonly cursor = this.gauge('indexer_cursor_block', 'Last block read');
  private readonly head = this.gauge('indexer_head_block', 'Last block of the chain');
  private readonly lagBlocks = this.gauge('indexer_lag_blocks', 'Blocks between cursor and head');
  private readonly lagSeconds = this.gauge('indexer_lag_seconds', 'Age of the last block read');
  private readonly range = this.gauge('indexer_range_size', 'Blocks asked for at once');
  private latest = { cursor: 0, head: 0 };
  private start?: { at: number; block: number };
  private reported = { at: 0, events: 0 };

  constructor() {
    collectDefaultMetrics({ register: this.registry });
  }

  /** @returns a line for the log when one is due */
  applied(
    cursor: { number: number; time: number },
    head: number,
    range: number,
    events: ChainEvent[],
  ): string | undefined {
    for (const { kind } of events) this.events.inc({ kind });
    this.cursor.set(cursor.number);
    this.head.set(head);
    this.lagBlocks.set(head - cursor.number);
    this.lagSeconds.set(Math.max(0, Date.now() / 1000 - cursor.time));
    this.range.set(range);
    this.latest = { cursor: cursor.number, head };
    this.start ??= { at: Date.now(), block: cursor.number };
    this.reported.events += events.length;
    const terminal = process.stderr.isTTY;
    const elapsed = Date.now() - this.reported.at;
    if (this.state !== 'syncing' || elapsed < (terminal ? REPORT.terminal : REPORT.log)) return undefined;
    const line = this.progress(this.reported.events / (elapsed / 1000));
    this.reported = { at: Date.now(), events: 0 };
    if (!terminal) return line;
    process.stderr.write(`\r\x1b[K${line}`);
    return undefined;
  }

  /** One line on the way to the head: share, rate and time left. */
  private progress(rate: number): string {
    const { cursor, head } = this.latest;
    const { at, block } = this.start!;
    const share = (cursor - block) / (head - block);
    const left = share > 0 ? `${Math.round(((Date.now() - at) / 1000 / share) * (1 - share))} s left` : '';
    const bar = '█'.repeat(share * 20).padEnd(20, '░');
    return `${bar} block ${cursor} of ${head} (${Math.floor(share * 100)} %), ${Math.round(rate)} events/s ${left}`;
  }

  /**
   * Serves /health (200 unless halted or without node or database), /health/live (always 200), and /metrics, which
   * asks for the token if there is one.
   */
  listen({ INDEXER_PORT: port, HOST: host, METRICS_TOKEN: token }: Listening): Promise<Server> {
    const server = createServer(({ url, headers }, response) => {
      const send = (status: number, body: object): unknown =>
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      const failing = this.state === 'halted' || this.state === 'disconnected';
      if (url === '/health') send(failing ? 503 : 200, { status: this.state, ...this.latest });
      else if (url === '/health/live') send(200, { status: 'alive' });
      else if (url !== '/metrics') send(404, { success: false, error: 'Not found' });
      else if (token && !bears(headers.authorization, token))
        send(401, { success: false, error: 'Invalid token' });
      else
        void this.registry
          .metrics()
          .then((text) => response.setHeader('content-type', this.registry.contentType).end(text));
    });
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, () => resolve(server));
    });
  }

  /** Of the whole chain, so that it outlives a restart; only who leads knows it. */
  showSetAside(counts: Map<string, number>): void {
    this.setAside.reset();
    for (const [reason, count] of counts) this.setAside.set({ reason }, count);
  }

  private gauge(name: string, help: string, ...labelNames: string[]): Gauge {
    return new Gauge({ name, help, labelNames, registers: [this.registry] });
  }

  private counter(name: string, help: string, ...labelNames: string[]): Counter {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }
}
