import { Pace } from './pace';

const block = (number: number, time: number) => ({ number, hash: `0x${number}`, parentHash: '', time });
const DAY_MS = 1_700_000_000_000;

interface Chain {
  /** Between two blocks. */
  ms: number;
  /** How long after its time each block comes here, in ms; by turns. */
  after?: number[];
  /** Block numbers whose slot stays empty. */
  missed?: (number: number) => boolean;
  /** How far this machine's clock is ahead. */
  clockMs?: number;
}

/** Follows `count` blocks by a clock that goes only while it waits. @returns polls a block, and the delays of blocks */
function follow({ ms, after = [0], missed = () => false, clockMs = 0 }: Chain, count = 200) {
  const times = Array.from({ length: count * 2 }, (_, i) => DAY_MS + i * ms).filter((_, i) => !missed(i));
  const blocks = times.slice(0, count + 65).map((time, i) => block(i + 1, Math.floor(time / 1000)));
  const comesAt = (i: number): number => times[i] + after[i % after.length];
  let now = comesAt(64) + 7;
  const pace = new Pace(() => now + clockMs);
  pace.restart(blocks.slice(0, 65));
  let next = 65;
  let polls = 0;
  const delays: number[] = [];
  while (next < blocks.length) {
    polls += 1;
    now += 5;
    const found: typeof blocks = [];
    for (; next < blocks.length && comesAt(next) <= now; next += 1) {
      found.push(blocks[next]);
      delays.push(now - comesAt(next));
    }
    if (found.length > 0) pace.observe(found);
    else now += pace.wait();
  }
  return { polls: polls / count, longest: Math.max(...delays), delays };
}

describe('the pace of a chain with a block', () => {
  // With a look every 500 ms, 25 polls a block.
  it.each<[string, Chain]>([
    ['each at its time', { ms: 12_000 }],
    ['each half a second after its time', { ms: 12_000, after: [500] }],
    ['now early and now late', { ms: 12_000, after: [200, 1900, 700, 3100, 400] }],
    ['by a clock that is an hour behind', { ms: 12_000, after: [800, 100], clockMs: -3_600_000 }],
    ['by a clock that is an hour ahead', { ms: 12_000, after: [800, 100], clockMs: 3_600_000 }],
  ])('every 12 s, %s: a few polls a block, seen within about a second', (_, chain) => {
    const { polls, longest } = follow(chain);
    expect(polls).toBeLessThan(6.5);
    expect(longest).toBeLessThan(1100);
  });

  it('every 12 s, of which some do not come: no block is late', () => {
    const { polls, longest } = follow({ ms: 12_000, after: [300], missed: (n) => n % 7 === 0 });
    expect(polls).toBeLessThan(8);
    expect(longest).toBeLessThan(1100);
  });

  it.each([
    [2000, 3.5, 600],
    [1000, 6, 300],
    [250, 2.5, 250],
  ])('every %d ms: %d polls a block at most, seen within %d ms', (ms, most, delay) => {
    const { polls, longest } = follow({ ms, after: [30, 10] }, 400);
    expect(polls).toBeLessThan(most);
    expect(longest).toBeLessThan(delay);
  });

  it('every minute: a sign of life every ten seconds', () => {
    const { polls, longest } = follow({ ms: 60_000, after: [0, 400] });
    expect(polls).toBeLessThan(10);
    expect(longest).toBeLessThan(1100);
  });

  it('that becomes faster is followed at once', () => {
    let now = DAY_MS;
    const pace = new Pace(() => now);
    const at = (number: number, ms: number): ReturnType<typeof block> => block(number, Math.floor(ms / 1000));
    pace.restart(Array.from({ length: 65 }, (_, i) => at(i, now - (64 - i) * 12_000)));
    const waits = Array.from({ length: 40 }, (_, i) => {
      now += 1000;
      pace.observe([at(65 + i, now)]);
      return pace.wait();
    });
    expect(waits.slice(1).every((ms) => ms <= 1000)).toBe(true);
  });

  it('is not known from a few blocks, nor from the ends of long ranges', () => {
    const pace = new Pace(() => DAY_MS);
    pace.restart(Array.from({ length: 10 }, (_, i) => block(i, i * 12)));
    expect([pace.median, pace.wait()]).toEqual([undefined, 500]);
    pace.observe([block(10, 120)]);
    expect(pace.median).toBe(12);
    for (let i = 2; i < 30; i += 1) pace.observe([block(i * 1000, i * 12_000)]);
    expect([pace.median, pace.wait()]).toEqual([undefined, 500]);
  });

  it('stays known when blocks are taken back', () => {
    const pace = new Pace(() => DAY_MS);
    pace.restart(Array.from({ length: 20 }, (_, i) => block(i, i * 12)));
    pace.rewound(17);
    pace.observe([block(18, 18 * 12), block(19, 20 * 12)]);
    expect(pace.median).toBe(12);
  });
});
