import { refusalOf } from './refusals';
import { RangeSize, partsOf } from './range-size';

const HOUR_MS = 3_600_000;

/** Reads blocks of `density` events each from a provider with a cap. @returns the sizes of calls that it refused */
function readFrom(
  size: RangeSize,
  ranges: number,
  takes: (blocks: number) => string | undefined,
  density = 0,
) {
  const refused: number[] = [];
  for (let read = 0; read < ranges;) {
    const blocks = Math.min(size.blocks, size.span * 90);
    const [{ first, last }] = partsOf(1, blocks, size.span);
    const said = takes(last - first + 1);
    if (said === undefined) {
      size.adapt(blocks * density, blocks);
      read += 1;
    } else {
      refused.push(last - first + 1);
      size.refuse(last - first + 1, refusalOf(said));
    }
  }
  return refused;
}

describe('the size of ranges', () => {
  let now = 0;
  let size: RangeSize;
  const cappedAt =
    (cap: number, say = (n: number) => `eth_getLogs is limited to a ${n} range`) =>
    (blocks: number): string | undefined =>
      blocks > cap ? say(cap) : undefined;
  beforeEach(() => {
    now = 1;
    size = new RangeSize(() => now);
  });

  it.each([5, 2000])('is learned from one refusal that tells the cap of %d, for an hour', (cap) => {
    expect(readFrom(size, 200, cappedAt(cap))).toHaveLength(1);
    expect(size.span).toBe(cap);
    // A small cap makes calls small, not ranges.
    expect(Math.min(size.blocks, size.span * 90)).toBe(Math.min(10_000, cap * 90));
    now += HOUR_MS;
    expect(readFrom(size, 1, cappedAt(cap))).toHaveLength(0);
    expect(readFrom(size, 50, cappedAt(cap))).toEqual([Math.min(cap * 2, 10_000)]);
    expect(size.span).toBe(cap);
  });

  it('is found where the refusal tells nothing, and what was refused is not tried again for an hour', () => {
    const silent = cappedAt(37, () => 'block range is too wide');
    const refused = readFrom(size, 500, silent);
    expect(size.span).toBe(37);
    expect(new Set(refused).size).toBe(refused.length);
    expect(refused).toEqual([...refused].sort((a, b) => b - a));
    expect(readFrom(size, 1000, silent)).toEqual([]);
  });

  it('is known to all who ask the endpoint, also to those who began with more', () => {
    const other = new RangeSize(() => now, size.caps);
    expect(readFrom(size, 200, cappedAt(500))).toHaveLength(1);
    expect([other.span, new RangeSize(() => now, size.caps).span]).toEqual([500, 500]);
    expect(readFrom(other, 50, cappedAt(500))).toEqual([]);
  });

  it('does not believe a provider that refuses what it offers', () => {
    // As the free plan of one does.
    const refused = readFrom(
      size,
      300,
      cappedAt(100, () => 'ranges over 10000 blocks are not supported'),
    );
    expect(size.span).toBe(100);
    expect(refused.length).toBeLessThan(20);
  });

  it('follows a cap that becomes smaller, and one that becomes larger when an hour is over', () => {
    readFrom(size, 100, cappedAt(2000));
    expect(readFrom(size, 100, cappedAt(5))).toHaveLength(1);
    expect(size.span).toBe(5);
    expect(readFrom(size, 100, cappedAt(2000))).toEqual([]);
    expect(size.span).toBe(5);
    now += HOUR_MS;
    readFrom(size, 100, cappedAt(2000));
    expect(size.span).toBe(2000);
  });

  it('counts several calls that were refused together as one', () => {
    size.refuse(1000, refusalOf('eth_getLogs is limited to a 100 range'));
    size.refuse(1000, refusalOf('block range is too wide'));
    expect(size.span).toBe(100);
  });

  it('fits a cap of results to the events of the last blocks, and is large again where there are few', () => {
    const takes = (density: number) => (blocks: number) =>
      blocks * density > 1000 ? 'query returned more than 1000 results' : undefined;
    expect(readFrom(size, 50, takes(0.01), 0.01)).toEqual([]);
    // A dense region after a sparse one, and once more: then the cap is known.
    const dense = readFrom(size, 50, takes(10), 10);
    expect(dense.length).toBeLessThan(10);
    expect(size.span * 10).toBeLessThanOrEqual(1000);
    // The blocks become denser: nothing needs to be refused.
    size.adapt(size.span * 12, size.span);
    expect(size.span * 12).toBeLessThanOrEqual(1000 * 0.7);
    expect(readFrom(size, 50, takes(0.01), 0.01)).toEqual([]);
    expect(size.span).toBe(10_000);
  });

  it('is as before after a failure that tells of no cap', () => {
    size.refuse(64, refusalOf('internal error'));
    expect(size.span).toBe(32);
    readFrom(size, 100, () => undefined);
    expect(size.span).toBe(10_000);
  });

  it('is never less than a block', () => {
    for (let i = 0; i < 20; i += 1) size.refuse(size.span, refusalOf('block range is too wide'));
    for (let i = 0; i < 20; i += 1) size.shrink();
    expect([size.span, size.blocks]).toEqual([1, 1]);
  });
});
