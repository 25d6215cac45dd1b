import { RangeSize, partsOf } from './range-size';

/** Reads blocks of `density` events each from a provider with a cap. @returns the sizes of calls that it refused */
function readFrom(size: RangeSize, ranges: number, takes: (blocks: number) => boolean, density = 0) {
  const refused: number[] = [];
  for (let read = 0; read < ranges;) {
    const blocks = Math.min(size.blocks, size.span * 90);
    const [{ first, last }] = partsOf(1, blocks, size.span);
    if (takes(last - first + 1)) {
      size.adapt(blocks * density, blocks);
      read += 1;
    } else {
      refused.push(last - first + 1);
      size.refuse(last - first + 1);
    }
  }
  return refused;
}

describe('the size of ranges', () => {
  let size: RangeSize;
  const cappedAt =
    (cap: number) =>
    (blocks: number): boolean =>
      blocks <= cap;
  beforeEach(() => (size = new RangeSize()));

  it.each([5, 37, 2000])('is found for a cap of %d, and seldom tried again', (cap) => {
    expect(readFrom(size, 1000, cappedAt(cap)).length).toBeLessThan(20);
    expect(size.span).toBeLessThanOrEqual(2 * cap);
    expect(size.span * 4).toBeGreaterThan(cap);
    // A small cap makes calls small, not ranges.
    expect(Math.min(size.blocks, size.span * 90)).toBeGreaterThanOrEqual(Math.min(10_000, (cap * 90) / 4));
    expect(readFrom(size, 1000, cappedAt(cap)).length).toBeLessThan(5);
  });

  it('follows a cap that becomes smaller, or larger', () => {
    readFrom(size, 100, cappedAt(2000));
    readFrom(size, 100, cappedAt(5));
    expect(size.span).toBeLessThan(10);
    readFrom(size, 2000, cappedAt(2000));
    expect(size.span).toBeGreaterThan(1000);
  });

  it('counts several calls that were refused together as one', () => {
    size.refuse(1000);
    size.refuse(1000);
    expect(size.span).toBe(500);
  });

  it('fits a cap of results to the events of the last blocks, and is large again where there are few', () => {
    const takes = (density: number) => (blocks: number) => blocks * density <= 1000;
    expect(readFrom(size, 50, takes(0.01), 0.01)).toEqual([]);
    expect(readFrom(size, 50, takes(10), 10).length).toBeLessThan(12);
    readFrom(size, 400, takes(0.01), 0.01);
    expect(size.span).toBe(10_000);
  });

  it('is never less than a block', () => {
    for (let i = 0; i < 20; i += 1) size.refuse(size.span);
    for (let i = 0; i < 20; i += 1) size.shrink();
    expect([size.span, size.blocks]).toEqual([1, 1]);
  });
});
