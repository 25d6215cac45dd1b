import type { BlockBatch } from '#indexer/reading/block-batch';
import type { ChainEvent } from '#indexer/reading/decode';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { type Stance, compared, verdict } from './cross-check';

/** What the others say: `a`, `b` are claims of their own that differ from the reader's. */
const others = (...said: string[]): { stance: Stance; claim?: string }[] =>
  said.map((each) => (each.length === 1 ? { stance: 'differs', claim: each } : { stance: each as Stance }));

describe('the vote on what the reader says', () => {
  it.each<[string, string[], number, string]>([
    ['accepts it where nobody else is asked', [], 1, 'accepted'],
    ['accepts it where another says the same', ['agrees'], 1, 'accepted'],
    ['accepts it where the other fails', ['fails'], 1, 'accepted'],
    ['accepts it against a minority', ['agrees', 'a'], 1, 'accepted'],
    ['waits where the reader is alone', ['lacks'], 1, 'unconfirmed'],
    ['waits where the reader is alone and another fails', ['lacks', 'fails'], 1, 'unconfirmed'],
    ['waits where fewer agree than have to', ['agrees', 'lacks'], 3, 'unconfirmed'],
    ['accepts it where as many agree as have to', ['agrees', 'agrees'], 3, 'accepted'],
    ['is undecided between two', ['a'], 1, 'undecided'],
    ['is undecided where all differ', ['a', 'b'], 1, 'undecided'],
    ['is undecided where the largest claim has no majority', ['agrees', 'a', 'a'], 1, 'undecided'],
    ['refuses it where most others say the same other thing', ['a', 'a'], 1, 'outvoted'],
    ['refuses it against a minority that supports it', ['agrees', 'a', 'a', 'a'], 1, 'outvoted'],
  ])('%s', (_, said, agree, wanted) => expect(verdict(others(...said), agree)).toBe(wanted));
});

describe('an endpoint that differs about a contract whose events are proven', () => {
  const event = (logIndex: number, fields: Partial<ChainEvent> = {}): ChainEvent =>
    ({
      blockNumber: 7,
      contract: 'c',
      amount: '1',
      txHash: '0xa',
      logIndex,
      seq: 100 + logIndex,
      ...fields,
    }) as ChainEvent;
  const batch = (...events: ChainEvent[]): BlockBatch =>
    ({
      to: { number: 7, hash: '0x7', time: 1 },
      blocks: [],
      contracts: ['c', 'd'],
      counts: [],
      events,
    }) as unknown as BlockBatch;
  const ours = batch(event(3), event(5, { amount: '2' }), event(9, { contract: 'd' }));

  it.each<[string, Stance, ChainEvent[]]>([
    [
      'agrees if it counts its logs differently',
      'agrees',
      [event(1), event(0, { amount: '2' }), event(9, { contract: 'd' })],
    ],
    ['agrees if it leaves some out, as the blocks decide', 'agrees', [event(9, { contract: 'd' })]],
    [
      'differs in an event of another contract',
      'differs',
      [event(1), event(0, { amount: '2' }), event(8, { contract: 'd' })],
    ],
  ])('%s', (_, stance, events) => {
    const said = [{ endpoint: {} as WatchedEndpoint, stance: 'agrees' as const, batch: batch(...events) }];
    expect(compared(said, ours)[0].stance).toBe('differs');
    expect(compared(said, ours, new Set(['c']))[0].stance).toBe(stance);
  });

  it('agrees only if the second event of a log is also the same', () => {
    const [two, other] = ['8', '9'].map((amount) => batch(event(3, { second: event(3, { amount }) })));
    const stances = [batch(event(3, { second: event(3, { amount: '8' }) })), other].map(
      (theirs) =>
        compared([{ endpoint: {} as WatchedEndpoint, stance: 'agrees', batch: theirs }], two)[0].stance,
    );
    expect(stances).toEqual(['agrees', 'differs']);
  });
});
