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

describe('afterIo', () => {
  it('calls back once, or never if it is stopped, also between its two steps', async () => {
    let calls = 0;
    await new Promise<void>((resolve) => void afterIo(1, () => resolve(void calls++)));
    const stop = afterIo(1, () => calls++);
    // Timers of one length run in the order in which they were made: the stop is between timer and immediate.
    await new Promise<void>((resolve) => setTimeout(() => resolve(stop()), 1));
    await new Promise<void>((resolve) => afterIo(5, resolve));
    expect(calls).toBe(1);
  });
});
