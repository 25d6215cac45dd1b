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
export interface Speed {
  blocksPerSecond: number;
  eventsPerSecond: number;
  /** Until the head is reached, which goes on meanwhile; null while the distance to it does not shrink. */
  secondsLeft: number | null;
}

/** How fast the ledger comes nearer to the head of the chain. */
export class Progress {
  private samples: Sample[] = [];
  private events = 0;
  private first = 0;

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Reading begins, or goes on elsewhere. */
  start(cursor: number, head: number): void {
    this.first = cursor;
    this.events = 0;
    this.samples = [{ at: this.now(), cursor, head, events: 0 }];
  }

  /** It starts over where blocks were taken back. @param events that were applied since the last call */
  moved(cursor: number, head: number, events: number): void {
    if (cursor < (this.samples.at(-1)?.cursor ?? 0)) return this.start(cursor, head);
    this.events += events;
    const sample = { at: this.now(), cursor, head, events: this.events };
    // The newest one is replaced until it is a second younger than the one before it.
    const [before, newest] = [this.samples.at(-2), this.samples.at(-1)];
    if (before && newest && newest.at - before.at < SAMPLE_MS) this.samples.pop();
    this.samples.push(sample);
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

  /** Share of the blocks from the start to the head that are read, from 0 to 1. */
  get share(): number {
    const newest = this.samples.at(-1);
    if (!newest || newest.head <= this.first) return 1;
    return Math.min(1, Math.max(0, (newest.cursor - this.first) / (newest.head - this.first)));
  }

  /** A bar with the share done, the rate and the time left. */
  get line(): string {
    const { cursor, head } = this.samples.at(-1) ?? { cursor: 0, head: 0 };
    const { blocksPerSecond = 0, eventsPerSecond = 0, secondsLeft = null } = this.speed ?? {};
    const bar = '█'.repeat(this.share * 20).padEnd(20, '░');
    const rate = `${Math.round(blocksPerSecond)} blocks/s, ${Math.round(eventsPerSecond)} events/s`;
    const left = secondsLeft === null ? 'the head is no nearer' : `${secondsLeft} s left`;
    return `${bar} block ${cursor} of ${head} (${Math.floor(this.share * 100)} %), ${rate}, ${left}`;
  }
}

const round = (rate: number): number => Math.round(rate * 10) / 10;
