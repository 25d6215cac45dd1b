import { BatchSize } from './batch-size';

describe('the size of batches', () => {
  let size: BatchSize;
  beforeEach(() => (size = new BatchSize()));

  /** Sends full batches to an endpoint that says of those it does not take that it was asked too often. */
  function send(batches: number, takes: (calls: number) => boolean): number {
    let throttled = 0;
    for (let sent = 0; sent < batches; sent += 1) {
      const calls = size.limit;
      if (takes(calls)) size.succeeded(calls);
      else {
        throttled += 1;
        size.throttled(calls);
      }
    }
    return throttled;
  }

  it('is the same again soon after an endpoint was asked too often, whatever the batch', () => {
    send(4, () => false);
    expect(size.limit).toBe(6);
    send(5, () => true);
    expect(size.limit).toBe(100);
    send(20, () => false);
    expect(size.limit).toBe(1);
    send(7, () => true);
    expect(size.limit).toBe(100);
  });

  it('stays small where each call of a batch counts', () => {
    send(100, (calls) => calls <= 10);
    expect(size.limit).toBeLessThanOrEqual(10);
    expect(size.limit).toBeGreaterThan(4);
    expect(send(100, (calls) => calls <= 10)).toBeLessThanOrEqual(3);
  });

  it('is not large again at once where the batch itself was refused', () => {
    size.throttled(100);
    size.refused(50);
    send(10, () => true);
    expect(size.limit).toBe(25);
  });
});
