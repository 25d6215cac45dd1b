import fc from 'fast-check';
import { LATEST_TIME_S, transactionId } from './decode';

describe('transactionId', () => {
  const places = fc.record({
    time: fc.integer({ min: 0, max: LATEST_TIME_S }),
    blockNumber: fc.integer({ min: 0, max: 2 ** 40 - 1 }),
    logIndex: fc.integer({ min: 0, max: 2 ** 24 - 1 }),
  });

  it('is a UUIDv7 of the block time (RFC 9562, 5.7), and the same for the same place', () => {
    fc.assert(
      fc.property(places, (place) => {
        expect(transactionId(place)).toMatch(/^[0-9a-f]{12}7[0-9a-f]{3}8[0-9a-f]{15}$/);
        expect(parseInt(transactionId(place)!.slice(0, 12), 16)).toBe(place.time * 1000);
        const digits = transactionId(place)!;
        expect(parseInt(digits.slice(13, 16) + digits.slice(17, 24), 16)).toBe(place.blockNumber);
        expect(parseInt(digits.slice(24, 30), 16)).toBe(place.logIndex);
        expect(transactionId({ ...place })).toBe(digits);
      }),
    );
  });

  it('orders as time, block and log do, and differs wherever the place does', () => {
    const close = fc.tuple(places, places, fc.boolean(), fc.boolean());
    const order = (a: string | number, b: string | number): number => Number(a > b) - Number(a < b);
    fc.assert(
      fc.property(close, ([a, other, sameTime, sameBlock]) => {
        const b = {
          ...other,
          ...(sameTime && { time: a.time }),
          ...(sameBlock && { blockNumber: a.blockNumber }),
        };
        const wanted =
          order(a.time, b.time) || order(a.blockNumber, b.blockNumber) || order(a.logIndex, b.logIndex);
        expect(order(transactionId(a)!, transactionId(b)!)).toBe(wanted);
      }),
    );
  });

  it('differs between log indexes that agree in their low bits', () => {
    const [one, other] = [4095, 69631].map((logIndex) =>
      transactionId({ time: 1, blockNumber: 1, logIndex }),
    );
    expect(one).not.toBe(other);
  });

  it.each([
    { logIndex: 2 ** 24 },
    { blockNumber: 2 ** 40 },
    { time: LATEST_TIME_S + 1 },
    { time: -1 },
    { logIndex: NaN },
  ])('is none for a place that does not fit: %j', (place) => {
    expect(transactionId({ time: 1, blockNumber: 1, logIndex: 1, ...place })).toBeUndefined();
  });
});
