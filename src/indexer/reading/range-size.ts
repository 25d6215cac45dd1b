import type { Refusal } from './refusals';

const MAX_BLOCKS = 10_000;
/** A database transaction of about so many events is efficient, and still short. */
const TARGET_EVENTS = 8_000;
/** After so many ranges, a size that was too large is tried again. */
const CALM_RANGES = 10;
/** For so long no more blocks are asked for than what was refused. Providers rarely change their caps. */
const KEPT_MS = 3_600_000;
/** Next to a provider's cap of results there are ranges that exceed it. */
const RESULTS_SHARE = 0.7;

/** The first and the last block of one call for logs. */
export interface Part {
  first: number;
  last: number;
}

/** What an endpoint has refused, until when, and the results that it said it sends at most: whatever it is asked about. */
export interface Caps {
  refusedSpan: { blocks: number; until: number };
  mostResults: { results: number; until: number };
}

/** A range in parts of so many blocks. */
export const partsOf = (from: number, to: number, span: number): Part[] =>
  Array.from({ length: Math.ceil((to - from + 1) / span) }, (_, i) => {
    const first = from + i * span;
    return { first, last: Math.min(first + span - 1, to) };
  });

/**
 * How many blocks to read as one range: as many as make a batch of a good size; and for how many of them to ask an
 * endpoint in one call: as many as it accepts. What a provider has a cap of are calls, so that a small cap makes ranges
 * of several calls, which share their headers and counts.
 */
export class RangeSize {
  /** Of a range. */
  blocks = 64;
  private wantedSpan = MAX_BLOCKS;
  private calm = 0;
  private spanCalm = 0;
  /** The largest call that worked since the last refusal of a smaller one. */
  private worked = 0;

  /** @param caps of the endpoint, shared by all who ask it */
  constructor(
    private readonly now: () => number = () => performance.now(),
    readonly caps: Caps = {
      refusedSpan: { blocks: Infinity, until: 0 },
      mostResults: { results: Infinity, until: 0 },
    },
  ) {}

  /** Of one call. */
  get span(): number {
    const { blocks, until } = this.caps.refusedSpan;
    return this.now() < until ? Math.max(1, Math.min(this.wantedSpan, blocks - 1)) : this.wantedSpan;
  }

  /** The range could not be read, and nothing tells why. */
  shrink(from = this.blocks): void {
    this.blocks = Math.max(1, Math.floor(from / 2));
    this.calm = CALM_RANGES;
  }

  /** The endpoint refused a call for so many blocks. Others that were under way then may be refused later. */
  refuse(blocks: number, { of, blocks: said = Infinity, results }: Refusal): void {
    const isNews = blocks <= this.span;
    if (of === 'range') this.keep(blocks, said);
    if (results !== undefined && results > 0)
      this.caps.mostResults = { results, until: this.now() + KEPT_MS };
    if (!isNews) return;
    if (this.worked >= blocks) this.worked = 0;
    const half = Math.max(1, Math.floor(blocks / 2), of === 'range' ? this.worked : 0);
    // A cap may be meant without its last block.
    this.wantedSpan = said < blocks ? said : said === blocks && blocks > 1 ? blocks - 1 : half;
    this.spanCalm = CALM_RANGES;
  }

  /** A range was read whole. */
  adapt(events: number, blocks: number): void {
    if (events > TARGET_EVENTS * 1.5)
      this.blocks = Math.max(1, Math.floor((blocks * TARGET_EVENTS) / events));
    else if (events < TARGET_EVENTS / 2 && blocks >= this.blocks && this.calm-- <= 0)
      this.blocks = Math.min(MAX_BLOCKS, this.blocks * 2);
    this.adaptSpan(events / blocks, blocks);
  }

  private adaptSpan(density: number, blocks: number): void {
    if (blocks >= this.span) this.worked = Math.max(this.worked, this.span);
    const { results, until } = this.caps.mostResults;
    const most =
      this.now() < until && density > 0 ? Math.floor((results * RESULTS_SHARE) / density) : Infinity;
    if (most < this.span) this.wantedSpan = Math.max(1, most);
    else if (blocks >= this.span && this.spanCalm-- <= 0) this.wantedSpan = this.larger(most);
  }

  /** @param most by the results of the last range */
  private larger(most: number): number {
    const { blocks, until } = this.caps.refusedSpan;
    const isKept = this.now() < until;
    const larger = isKept ? Math.min(this.span * 2, Math.floor((this.span + blocks) / 2)) : this.span * 2;
    return Math.max(this.span, Math.min(MAX_BLOCKS, larger, most));
  }

  /** What a provider says it accepts is the largest size to be tried, unless it has just refused that. */
  private keep(blocks: number, said: number): void {
    const { blocks: before, until } = this.caps.refusedSpan;
    const least = Math.min(blocks, said < blocks ? said + 1 : blocks);
    const isLess = least <= before || this.now() >= until;
    if (isLess) this.caps.refusedSpan = { blocks: least, until: this.now() + KEPT_MS };
  }
}
