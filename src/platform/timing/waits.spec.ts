import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterIo, pause, within } from './waits';

const late = (): Error => new Error('too late');
const never = new Promise<never>(() => undefined);

describe('within', () => {
  it('gives what the promise gives, and its error', async () => {
    expect(await within(10_000, Promise.resolve(7), late)).toBe(7);
    await expect(within(10_000, Promise.reject(new Error('its own')), late)).rejects.toThrow('its own');
  });

  it('fails when it is late, or gives undefined', async () => {
    await expect(within(5, never, late)).rejects.toThrow('too late');
    expect(await within(5, never)).toBeUndefined();
  });

  it('does not count that this process stands still', async () => {
    const answer = within(50, new Promise((resolve) => setTimeout(resolve, 20, 'here')), late);
    const begun = performance.now();
    while (performance.now() - begun < 100);
    expect(await answer).toBe('here');
  });
});

describe('pause', () => {
  it('ends when the signal says so, and does not fail', async () => {
    const stop = new AbortController();
    const paused = pause(3_600_000, stop.signal);
    stop.abort();
    await paused;
    await pause(3_600_000, stop.signal);
    await pause(1);
  });
});

it('a timeout is stopped also after its timer has fired, until its callback runs', async () => {
  const ended = jest.fn();
  const timers = jest.spyOn(global, 'setTimeout');
  afterIo(-5, () => undefined)();
  // Node warns of times below zero.
  expect(timers.mock.calls.map(([, ms]) => ms)).toEqual([0]);
  timers.mockRestore();
  const stop = afterIo(0, ended);
  const stopped = new Promise<void>((resolve) => {
    setTimeout(() => {
      stop();
      resolve();
    }, 0);
  });
  // Both timers are due when the event loop goes on, so they run one after the other.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
  await stopped;
  await nextTurn();
  expect(ended).not.toHaveBeenCalled();
});
