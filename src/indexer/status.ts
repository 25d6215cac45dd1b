import { createServer, Server } from 'node:http';
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';

export type State = 'standby' | 'syncing' | 'synced' | 'disconnected' | 'halted';

/** What the indexer tells of itself: metrics, health and progress. */
export class Status {
  readonly registry = new Registry();
  state: State = 'standby';
  private readonly gauges = {
    cursor: this.gauge('indexer_cursor_block', 'Last block read'),
    head: this.gauge('indexer_head_block', 'Last block of the chain'),
    lagBlocks: this.gauge('indexer_lag_blocks', 'Blocks between cursor and head'),
    lagSeconds: this.gauge('indexer_lag_seconds', 'Age of the last block read'),
    range: this.gauge('indexer_range_size', 'Blocks asked for at once'),
    leader: this.gauge('indexer_leader', '1 while this process leads'),
  };
  readonly events = this.counter('indexer_events_total', 'Events read, by kind', ['kind']);
  readonly reorgs = this.counter('indexer_reorgs_total', 'Reorganisations followed');
  readonly reorgDepth = new Histogram({
    name: 'indexer_reorg_depth',
    help: 'Blocks taken back by a reorganisation',
    buckets: [1, 2, 4, 8, 16, 32, 64],
    registers: [this.registry],
  });
  readonly undone = this.counter('indexer_undone_events_total', 'Events taken back');
  readonly retries = this.counter('indexer_retries_total', 'Repeated requests to the node, by reason', ['kind']);
  readonly gaps = this.counter('indexer_gaps_total', 'Holes seen in the numbering of events');
  readonly anomalies = this.counter('indexer_anomalies_total', 'Events that do not fit what is known, by kind', [
    'kind',
  ]);
  readonly expired = this.counter('indexer_expired_deposits_total', 'Pending deposits that expired');
  private first?: { at: number; block: number };

  constructor() {
    collectDefaultMetrics({ register: this.registry });
  }

  position(cursor: { number: number; time: number }, head: number, range: number): void {
    this.first ??= { at: Date.now(), block: cursor.number };
    this.gauges.cursor.set(cursor.number);
    this.gauges.head.set(head);
    this.gauges.lagBlocks.set(Math.max(0, head - cursor.number));
    this.gauges.lagSeconds.set(Math.max(0, Date.now() / 1000 - cursor.time));
    this.gauges.range.set(range);
    this.latest = { cursor: cursor.number, head };
  }

  private latest = { cursor: 0, head: 0 };

  leads(leading: boolean): void {
    this.gauges.leader.set(leading ? 1 : 0);
    if (!leading) this.state = 'standby';
  }

  /** One line on the way to the head: share, rate and time left. */
  progress(events: number, seconds: number): string {
    const { cursor, head } = this.latest;
    const start = this.first ?? { at: Date.now(), block: cursor };
    const done = cursor - start.block;
    const share = head > start.block ? done / (head - start.block) : 1;
    const elapsed = (Date.now() - start.at) / 1000;
    const left = share > 0 ? Math.round((elapsed / share) * (1 - share)) : undefined;
    return `block ${cursor} of ${head} (${Math.floor(share * 100)} %), ${Math.round(events / seconds)} events/s, ${
      left === undefined ? 'time left unknown' : `${left} s left`
    }`;
  }

  /** Serves /health (200 unless halted or without a node) and /metrics. */
  listen(port: number, host: string): Promise<Server> {
    const server = createServer((request, response) => {
      void (async () => {
        if (request.url === '/metrics') {
          const text = await this.registry.metrics();
          response.setHeader('content-type', this.registry.contentType).end(text);
        } else if (request.url === '/health') {
          const healthy = this.state !== 'halted' && this.state !== 'disconnected';
          response.writeHead(healthy ? 200 : 503, { 'content-type': 'application/json' });
          response.end(JSON.stringify({ status: this.state, ...this.latest }));
        } else {
          response.writeHead(404).end();
        }
      })();
    });
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, () => resolve(server));
    });
  }

  private gauge(name: string, help: string): Gauge {
    return new Gauge({ name, help, registers: [this.registry] });
  }

  private counter(name: string, help: string, labelNames: string[] = []): Counter {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }
}
