import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import * as types from '#values/types';

/** What `test/support/run` changes of jest: without it each file would load the whole service for itself. */
describe('a test file', () => {
  it('has the globals of the process, so that what is shared knows its errors and arrays', () => {
    const read = (): unknown => readFileSync('/nowhere');
    expect(read).toThrow(Error);
    expect(Object.getPrototypeOf(process.argv)).toBe(Array.prototype);
  });

  it('can hold its clock still without those who wait by node:timers', async () => {
    jest.useFakeTimers();
    try {
      await wait(1);
      const called = jest.fn();
      setTimeout(called, 1000);
      expect(called).not.toHaveBeenCalled();
      jest.advanceTimersByTime(1000);
      expect(called).toHaveBeenCalled();
    } finally {
      jest.useRealTimers();
    }
  });

  it('shares the modules of the service, but for what it loads as a second version', async () => {
    const again = await import('#values/types');
    expect(again.POOL_TYPES).toBe(types.POOL_TYPES);
    let second: typeof types | undefined;
    await jest.isolateModulesAsync(async () => void (second = await import('#values/types')));
    expect(second!.POOL_TYPES).toEqual(types.POOL_TYPES);
    expect(second!.POOL_TYPES).not.toBe(types.POOL_TYPES);
  });
});
