import type { Heads } from '#indexer/agreement/heads';
import type { Reading, RpcEndpoints } from '#indexer/agreement/rpc-endpoints';
import { NodeBehind, type Plan } from '#indexer/reading/block-batch';
import type { Block } from '#indexer/reading/raw-chain';
import { RpcError, RpcResting, RpcUnavailable } from '#indexer/reading/rpc';

/** Ranges that are read, or have been read and wait, beside the one that is needed next. */
const MOST_RANGES = 8;
/** Events that wait. A range that comes with more than there is room for is read again later. */
const MOST_EVENTS = 40_000;
/** Far behind the head, it is asked for no more often than this. */
const HEADS_MS = 1000;

/** A range of blocks. The queue is in order; a range that failed leaves a gap, which is read again when it is due. */
interface Range {
  after: number;
  /** Hash of the block before it, once known. */
  hash?: string;
  /** Its last block. */
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
  /** The last block of the last range that was taken. */
  private taken = 0;
  private wanted = { upTo: 0, contracts: [] as string[] };
  /** Of the last range that was read. */
  private lastEvents = 0;
  private heads?: { asked: number; known: Heads };

  constructor(
    private readonly endpoints: Pick<RpcEndpoints, 'plan' | 'read' | 'headers' | 'askForHeads'>,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Forgets what was read: it may be of another branch, or by an endpoint that is not believed. */
  clear(): void {
    this.queue = [];
    this.wanted.upTo = 0;
    this.heads = undefined;
  }

  /** After a failure the endpoints are looked at again. If one just gave no answer, other ranges stay as they are. */
  failed(error: unknown): void {
    const isUnanswered = [RpcError, RpcUnavailable, RpcResting].some((kind) => error instanceof kind);
    if (isUnanswered) this.heads = undefined;
    else this.clear();
  }

  /** The heads of the endpoints, up to a second old while the cursor is far behind. @throws as RpcEndpoints.askForHeads */
  async askForHeads(cursor: Block, contracts: string[]): Promise<Heads> {
    const { heads } = this;
    const isFar = heads && !this.endpoints.plan(cursor, heads.known.upTo, contracts).near;
    if (isFar && this.now() - heads.asked < HEADS_MS) return heads.known;
    const asked = this.now();
    const known = await this.endpoints.askForHeads();
    this.heads = { asked, known };
    return known;
  }

  /** Whether the range after a block has been read, or is being read. */
  has(after: Block): boolean {
    return this.queue[0]?.after === after.number;
  }

  /** The next range after a block. @throws NodeBehind, and as RpcEndpoints.read */
  async take(after: Block, upTo: number, contracts: string[]): Promise<Reading> {
    this.prepare(after, upTo, contracts);
    const next = this.queue.shift()!;
    this.taken = next.to;
    this.extend();
    const reading = await next.reading;
    if (next.hash !== after.hash) throw new NodeBehind('what was read ahead is of another branch');
    return reading;
  }

  /** Has the range after a block read, and others behind it. */
  prepare(after: Block, upTo: number, contracts: string[]): void {
    this.wanted = { upTo, contracts };
    while (this.queue.length > 0 && this.queue[0].after < after.number) this.queue.shift();
    if (this.queue[0]?.contracts !== contracts.join()) this.queue = [];
    if (!this.has(after)) {
      const plan = this.endpoints.plan(after, upTo, contracts);
      const to = Math.min(this.queue[0]?.after ?? Infinity, plan.to);
      this.queue.unshift(this.start(after.number, { ...plan, to }, after));
    }
    this.extend();
  }

  private start(after: number, plan: Plan, header?: Block): Range {
    const { contracts } = this.wanted;
    const read = async (): Promise<Reading> => {
      const [block] = header ? [header] : await this.endpoints.headers([after]);
      if (!block) throw new NodeBehind(`the node lacks block ${after}`);
      started.hash = block.hash;
      return this.endpoints.read(block, plan, contracts);
    };
    const started = { after, to: plan.to, contracts: contracts.join() } as Range;
    started.reading = read();
    started.reading.then(
      ({ batch }) => this.done(started, batch.events.length),
      () => (this.width = Math.max(1, Math.floor(this.width / 2))),
    );
    return started;
  }

  private done(range: Range, events: number): void {
    range.events = this.lastEvents = events;
    this.width = Math.min(MOST_RANGES, this.width + 1);
    // The furthest first. The next one is needed, however large it is.
    while (this.held > MOST_EVENTS && this.queue.length > 1) this.queue.pop();
    this.extend();
  }

  /** Events that wait. */
  private get held(): number {
    return this.queue.reduce((sum, { events = 0 }) => sum + events, 0);
  }

  /** Starts more ranges while there is capacity, except for the last 64 blocks, where there is not enough to read. */
  private extend(): void {
    const { upTo, contracts } = this.wanted;
    while (this.queue.length < this.width) {
      const waiting = this.queue.filter(({ events }) => events === undefined).length;
      if (this.held + (waiting + 1) * this.lastEvents > MOST_EVENTS) return;
      const after = this.queue.at(-1)?.to ?? this.taken;
      const plan = this.endpoints.plan({ number: after }, upTo, contracts);
      if (plan.near || plan.to <= after) return;
      this.queue.push(this.start(after, plan));
    }
  }
}
