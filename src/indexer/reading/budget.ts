import { setTimeout as sleep } from 'node:timers/promises';

/** Who asks: the reader with those who confirm what it read, or anything else, which can wait. */
export type Turn = 'reading' | 'other';

const SECOND_MS = 1000;
/** While both wait, the reader gets so many calls for each one of the others. */
const READER_SHARE = 9;

interface Waiting {
  turn: Turn;
  calls: number;
  /** It gives up when it would have to wait longer because the endpoint wants to be left alone. */
  patienceMs: number;
  go: () => void;
  giveUp: (error: Resting) => void;
}

/** The endpoint wants to be left alone for longer than the caller waits. */
export class Resting extends Error {}

/**
 * When an endpoint may be asked: no second has more calls than its budget, and after an answer with `Retry-After` it is
 * left alone for that time. All who ask the endpoint share it. The reader goes first, and others are not kept out for
 * ever.
 */
export class Budget {
  private waiting: Waiting[] = [];
  private readonly sent: { at: number; calls: number }[] = [];
  private inLastSecond = 0;
  /** Calls of the reader while others waited. */
  private ahead = 0;
  private until = 0;
  private isServing = false;

  /** @param perSecond calls; those of a batch count each, as providers count them */
  constructor(
    readonly perSecond = Infinity,
    private readonly now = (): number => performance.now(),
    private readonly wait = (ms: number): Promise<unknown> => sleep(ms),
  ) {}

  /** For how long the endpoint still wants to be left alone. */
  get restMs(): number {
    return Math.max(0, this.until - this.now());
  }

  /** What the endpoint said. A shorter time does not end a longer one. */
  rest(ms: number): void {
    this.until = Math.max(this.until, this.now() + ms);
    this.waiting = this.waiting.filter(({ patienceMs, giveUp }) => {
      const isPatient = this.restMs <= patienceMs;
      if (!isPatient) giveUp(new Resting());
      return isPatient;
    });
  }

  /** Waits until so many calls may be sent in one request; at most `perSecond`. @throws Resting */
  async take(calls: number, turn: Turn, patienceMs: number): Promise<void> {
    if (this.restMs > patienceMs) throw new Resting();
    if (this.perSecond === Infinity && this.restMs === 0) return;
    await new Promise<void>((go, giveUp) => {
      this.waiting.push({ turn, calls, patienceMs, go, giveUp });
      void this.serve();
    });
  }

  private async serve(): Promise<void> {
    if (this.isServing) return;
    this.isServing = true;
    for (let next = this.next(); next; next = this.next()) {
      const ms = Math.max(this.restMs, this.fullMs(next.calls));
      if (ms > 0) {
        await this.wait(ms);
        continue;
      }
      this.waiting = this.waiting.filter((each) => each !== next);
      this.count(next);
      next.go();
    }
    this.isServing = false;
  }

  private first(turn: Turn): Waiting | undefined {
    return this.waiting.find((each) => each.turn === turn);
  }

  private next(): Waiting | undefined {
    const [reading, other] = [this.first('reading'), this.first('other')];
    return other && (!reading || this.ahead >= READER_SHARE * other.calls) ? other : reading;
  }

  private count({ turn, calls }: Waiting): void {
    this.sent.push({ at: this.now(), calls });
    this.inLastSecond += calls;
    if (turn === 'other') this.ahead = Math.max(0, this.ahead - READER_SHARE * calls);
    else this.ahead = this.first('other') ? this.ahead + calls : 0;
  }

  /** How long until the last second has room for so many calls. */
  private fullMs(calls: number): number {
    const now = this.now();
    while (this.sent.length > 0 && this.sent[0].at <= now - SECOND_MS)
      this.inLastSecond -= this.sent.shift()!.calls;
    let over = this.inLastSecond + calls - this.perSecond;
    for (const each of this.sent) {
      if (over <= 0) break;
      over -= each.calls;
      if (over <= 0) return each.at + SECOND_MS - now;
    }
    return 0;
  }
}
