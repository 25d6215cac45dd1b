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
