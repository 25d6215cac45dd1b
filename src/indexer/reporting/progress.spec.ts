import { Progress } from './telemetry';

describe('progress', () => {
  let now: number;
  let progress: Progress;
  const after = (seconds: number, cursor: number, head: number, events = 0): void => {
    now += seconds * 1000;
    progress.moved(cursor, head, events);
  };
  beforeEach(() => {
    now = 1_000_000;
    progress = new Progress(() => now);
  });

  it('is unknown before anything was read', () => {
    expect(progress.speed).toBeUndefined();
    progress.moved(100, 1000, 0);
    expect(progress.speed).toBeUndefined();
  });

  it('tells blocks and events a second, and the time until the head, which goes on', () => {
    progress.moved(100, 1000, 0);
    for (let i = 1; i <= 9; i++) after(1, 100 + i * 50, 1000 + i * 10, 7);
    // 450 blocks are read and 90 are new: 540 are left at 40 a second.
    expect(progress.speed).toEqual({ blocksPerSecond: 50, eventsPerSecond: 7, secondsLeft: 14 });
  });

  it('has no time left where the chain is as fast, and 0 at the head', () => {
    progress.moved(100, 200, 0);
    after(10, 110, 210);
    expect(progress.speed).toEqual({ blocksPerSecond: 1, eventsPerSecond: 0, secondsLeft: null });
    after(10, 220, 220);
    expect(progress.speed!.secondsLeft).toBe(0);
  });

  it('is that of the last minute, however many batches there are', () => {
    progress.moved(0, 1_000_000, 0);
    for (let i = 1; i <= 1000; i++) after(0.1, i, 1_000_000, 1);
    const slow = progress.speed!;
    expect([slow.blocksPerSecond, slow.eventsPerSecond]).toEqual([10, 10]);
    for (let i = 1; i <= 600; i++) after(0.1, 1000 + i * 100, 1_000_000, 1);
    expect(progress.speed!.blocksPerSecond).toBeGreaterThan(900);
  });

  it('gets slower while nothing comes', () => {
    progress.moved(100, 200, 0);
    after(1, 110, 200, 5);
    now += 9000;
    expect(progress.speed).toEqual({ blocksPerSecond: 1, eventsPerSecond: 0.5, secondsLeft: 90 });
  });

  it('starts over where a reorganisation has taken blocks back', () => {
    progress.moved(100, 200, 0);
    after(1, 190, 200, 5);
    after(1, 150, 201, 3);
    expect(progress.speed).toBeUndefined();
    after(1, 151, 201, 1);
    expect(progress.speed).toEqual({ blocksPerSecond: 1, eventsPerSecond: 1, secondsLeft: 50 });
  });
});
