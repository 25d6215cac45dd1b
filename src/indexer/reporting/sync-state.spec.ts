import { SyncState } from './sync-state';

const block = (number: number, time: number) => ({ number, hash: `0x${number}`, parentHash: '', time });

describe('SyncState', () => {
  let seconds: number;
  const clock = (): number => seconds * 1000;
  /** A chain with a block every `interval` seconds, read up to its head, now. */
  function chain(interval: number, chainId = 1, maxHeadAge?: number): SyncState {
    const sync = new SyncState(maxHeadAge, clock);
    const blocks = Array.from({ length: 65 }, (_, i) => block(1064 - i, seconds - i * interval));
    sync.chainId = chainId;
    sync.start(blocks[0], 1064, blocks);
    return sync;
  }
  /** The node answers, again and again, that nothing is new. */
  function quiet(sync: SyncState, duration: number): void {
    for (let i = 0; i < duration; i += 1) {
      seconds += 1;
      sync.progressed(sync.cursor!);
    }
  }
  beforeEach(() => (seconds = 1_700_000_000));

  it.each([
    [12, 30, 'synced'],
    [12, 45, 'syncing'],
    [1, 20, 'syncing'],
    [2, 14, 'synced'],
    [60, 170, 'synced'],
    [60, 190, 'syncing'],
  ])('goes by the pace of the chain: a block every %i s, none for %i s: %s', (interval, age, state) => {
    const sync = chain(interval);
    quiet(sync, age);
    expect(sync.state).toBe(state);
    sync.progressed(block(1065, seconds), [block(1065, seconds)]);
    expect(sync.state).toBe('synced');
  });

  it.each([
    [31337, undefined, 'synced'],
    [1337, undefined, 'synced'],
    [31337, 30, 'syncing'],
    [1, 0, 'synced'],
    [1, 100_000, 'synced'],
  ])('on chain %i with MAX_HEAD_AGE %s a quiet hour is %s', (id, maxHeadAge, state) => {
    const sync = chain(1, id, maxHeadAge);
    quiet(sync, 3600);
    expect(sync.state).toBe(state);
  });

  it.each([
    [12, 2000],
    [4, 1000],
    [1, 250],
    [0, 200],
  ])('looks for the next block of a chain with one every %i s after %i ms', (interval, ms) => {
    expect(chain(interval).waitForNext()).toBe(ms);
    expect(chain(interval, 31337).waitForNext()).toBe(500);
  });

  it('does not judge the pace of a chain by a few blocks, or by the ends of long ranges', () => {
    const sync = new SyncState(undefined, clock);
    sync.chainId = 1;
    sync.start(
      block(9, 0),
      9,
      Array.from({ length: 10 }, (_, i) => block(9 - i, 0)),
    );
    for (let i = 1; i < 30; i += 1) sync.progressed(block(i * 1000, i), [block(i * 1000, i)]);
    expect([sync.headAgeLimit, sync.waitForNext()]).toEqual([Infinity, 500]);
  });

  it('is cut off without progress, in doubt at once, and well again with progress', () => {
    const sync = chain(12);
    seconds += 14;
    expect(sync.state).toBe('synced');
    seconds += 2;
    expect(sync.state).toBe('disconnected');
    sync.progressed(block(1065, seconds));
    expect(sync.state).toBe('synced');
    sync.doubt();
    expect(sync.state).toBe('syncing');
    sync.progressed(block(1066, seconds));
    expect(sync.state).toBe('synced');
  });

  it('remembers the best head when the node falls behind, and forgets it after ten minutes', () => {
    const sync = chain(1, 31337);
    sync.seen(2000);
    sync.seen(1064);
    expect(sync.state).toBe('syncing');
    quiet(sync, 599);
    sync.seen(1064);
    expect(sync.state).toBe('syncing');
    quiet(sync, 2);
    sync.seen(1064);
    expect(sync.state).toBe('synced');
  });
});
