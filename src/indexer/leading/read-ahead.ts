import type { Heads } from '#indexer/agreement/heads';
import type { Reading } from '#indexer/agreement/reading';
import type { RpcEndpoints } from '#indexer/agreement/rpc-endpoints';
import type { Block } from '#indexer/reading/raw-chain';
import { RpcError, RpcResting, RpcUnavailable } from '#indexer/reading/rpc';

/** Ranges that are read, or have been read and wait, beside the one that is needed next. */
const MOST_RANGES = 8;
/** Events that wait. A range that comes with more than there is room for is read again later. */
const MOST_EVENTS = 40_000;
/** Far behind the head, it is asked for no more often than this. */
const HEADS_MS = 1000;

/** One range. The queue has them in order; those that no longer fit each other leave a gap, which is read when it is due. */
interface Range {
  after: Block;
  /** Its last block, as planned. It may end before that. */
  to: number;
  contracts: string;
  reading: Promise<Reading>;
  /** Once it was read. */
  events?: number;
}

/**
 * Reads the next ranges while earlier ones are read and applied, so that the time which a node takes to answer does not
 * count for each. What is read ahead is checked as what is read when it is due: against the block before it, whose
 * header is read first. If the ledger comes to another block there, it is read again.
 */
export class ReadAhead {
  private queue: Range[] = [];
  /** Ranges to read beside the next one: fewer after a failure, one more after each success. */
  private width = 1;
  private throttled = 0;
  /** Where the last range that was taken ends, as planned. */
  private taken = 0;
  private wanted = { upTo: 0, contracts: [] as string[] };
  /** Of the last range that was read. */
  private lastEvents = 0;
  private isExtending = false;
  private heads?: { asked: number; known?: Heads; asking: Promise<Heads> };

  constructor(
    private readonly endpoints: Pick<RpcEndpoints, 'plan' | 'read' | 'headers' | 'throttled' | 'askForHeads'>,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Forgets what was read: it may be of another branch, or by an endpoint that is not believed. */
  clear(): void {
    this.queue = [];
    this.heads = undefined;
  }

  /** After a failure the endpoints are looked at again. If one just gave no answer, other ranges stay as they are. */
  failed(error: unknown): void {
    const isUnanswered = [RpcError, RpcUnavailable, RpcResting].some((kind) => error instanceof kind);
    if (isUnanswered) this.heads = undefined;
    else this.clear();
  }

  /**
   * The heads of the endpoints. While the cursor is more than 64 blocks behind, those of a moment ago will do, and the
   * next are asked for beside the reading. @throws as RpcEndpoints.askForHeads
   */
  async askForHeads(cursor: Block, contracts: string[]): Promise<Heads> {
    const { heads } = this;
    const isFar = heads?.known && !this.endpoints.plan(cursor, heads.known.upTo, contracts).near;
    if (isFar && this.now() - heads.asked < HEADS_MS) return heads.known!;
    const asking = this.endpoints.askForHeads();
    const next = { asked: this.now(), known: isFar ? heads.known : undefined, asking };
    this.heads = next;
    asking.then((known) => (next.known = known)).catch(() => (next.known = undefined));
    return next.known ?? asking;
  }

  /** Whether the range after a block has been read, or is being read. */
  has(after: Block): boolean {
    return this.queue[0]?.after.number === after.number && this.queue[0].after.hash === after.hash;
  }

  /** The next range after a block. @throws as RpcEndpoints.read */
  take(after: Block, upTo: number, contracts: string[]): Promise<Reading> {
    this.prepare(after, upTo, contracts);
    const { reading, to } = this.queue.shift()!;
    this.taken = to;
    this.extend();
    return reading;
  }

  /** Has the range after a block read, and others behind it. */
  prepare(after: Block, upTo: number, contracts: string[]): void {
    this.wanted = { upTo, contracts };
    this.discard(after, contracts);
    if (!this.has(after)) this.queue.unshift(this.start(after, upTo, contracts));
    this.extend();
  }

  /** Drops what is before the block, or does not fit it. */
  private discard(after: Block, contracts: string[]): void {
    while (this.queue.length > 0 && this.queue[0].after.number < after.number) this.queue.shift();
    const [first] = this.queue;
    const isOther = first?.after.number === after.number && first.after.hash !== after.hash;
    if (isOther || first?.contracts !== contracts.join()) this.queue = [];
  }

  /** @param to its last block; without it, as planned, and no further than where the queue begins */
  private start(after: Block, upTo: number, contracts: string[], to?: number): Range {
    const next = this.queue[0]?.after.number ?? Infinity;
    const end = to ?? Math.min(next, this.endpoints.plan(after, upTo, contracts).to);
    const reading = this.endpoints.read(after, upTo, contracts, undefined, end - after.number);
    const started: Range = { after, to: end, contracts: contracts.join(), reading };
    reading.then(
      ({ batch }) => this.done(started, batch.events.length),
      () => (this.width = Math.max(1, Math.floor(this.width / 2))),
    );
    return started;
  }

  private done(range: Range, events: number): void {
    range.events = this.lastEvents = events;
    const { throttled } = this.endpoints;
    const isThrottled = throttled > this.throttled;
    this.throttled = throttled;
    this.width = isThrottled
      ? Math.max(1, Math.floor(this.width / 2))
      : Math.min(MOST_RANGES, this.width + 1);
    // The furthest first. The next one is needed, however large it is.
    for (let held = this.held; held > MOST_EVENTS && this.queue.length > 1; held = this.held)
      this.queue.pop();
    this.extend();
  }

  /** Events that wait. */
  private get held(): number {
    return this.queue.reduce((sum, { events }) => sum + (events ?? 0), 0);
  }

  /** Starts further ranges, when there is room for some. Failures are left to who needs these ranges. */
  private extend(): void {
    if (this.isExtending) return;
    const { upTo, contracts } = this.wanted;
    const ranges = this.next(upTo, contracts);
    if (ranges.length === 0) return;
    const { queue } = this;
    this.isExtending = true;
    void this.endpoints
      .headers(ranges.map(({ after }) => after))
      .then((headers) => {
        if (this.queue !== queue || contracts !== this.wanted.contracts) return;
        for (const [i, { after, to }] of ranges.entries()) {
          const header = headers[i];
          // Meanwhile other ranges may have been begun or dropped.
          if (header && after === this.end) queue.push(this.start(header, upTo, contracts, to));
        }
      })
      .catch(() => undefined)
      .finally(() => (this.isExtending = false));
  }

  /** The last block that is read, or that was planned to be. */
  private get end(): number {
    return this.queue.at(-1)?.to ?? this.taken;
  }

  /** The ranges to read behind the last one, but for the last 64 blocks: there is not enough to read. */
  private next(upTo: number, contracts: string[]): { after: number; to: number }[] {
    const waiting = this.queue.filter(({ events }) => events === undefined).length;
    const expected = this.held + waiting * this.lastEvents;
    const forEvents = Math.floor((MOST_EVENTS - expected) / Math.max(1, this.lastEvents));
    const room = Math.min(this.width - this.queue.length, forEvents);
    const found: { after: number; to: number }[] = [];
    if (room < Math.ceil(this.width / 2)) return found;
    for (let after = this.end; found.length < room;) {
      const { to, near } = this.endpoints.plan({ number: after }, upTo, contracts);
      if (near || to <= after) break;
      found.push({ after, to });
      after = to;
    }
    return found;
  }
}
