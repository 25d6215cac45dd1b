import type { BlockBatch } from '#indexer/reading/block-batch';
import type { ChainEvent } from '#indexer/reading/decode';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { type Claim, claimsOf, verdict } from './vote';

const lacks = undefined;

describe('the vote on what the reader says', () => {
  it.each<[string, Claim[], number, string]>([
    ['accepts it where nobody else is asked', [], 1, 'accepted'],
    ['accepts it where another says the same', ['ours'], 1, 'accepted'],
    ['accepts it against a minority', ['ours', 'a'], 1, 'accepted'],
    ['waits where the reader is alone', [lacks], 1, 'unconfirmed'],
    ['waits where fewer agree than have to', ['ours', lacks], 3, 'unconfirmed'],
    ['accepts it where as many agree as have to', ['ours', 'ours'], 3, 'accepted'],
    ['is undecided between two', ['a'], 1, 'undecided'],
    ['is undecided where all differ', ['a', 'b'], 1, 'undecided'],
    ['is undecided where the largest claim has no majority', ['ours', 'a', 'a'], 1, 'undecided'],
    ['refuses it where most others say the same other thing', ['a', 'a'], 1, 'outvoted'],
    ['refuses it against a minority that supports it', ['ours', 'a', 'a', 'a'], 1, 'outvoted'],
  ])('%s', (_, said, agree, wanted) => expect(verdict('ours', said, agree)).toBe(wanted));
});

describe('another endpoint', () => {
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
  const agree = (one: BlockBatch, other: BlockBatch, proven: string[] = []): boolean => {
    const [claim, theirs] = claimsOf(
      one,
      [{ endpoint: {} as WatchedEndpoint, batch: other }],
      new Set(proven),
    );
    return claim === theirs;
  };
  const ours = batch(event(3), event(5, { amount: '2' }), event(9, { contract: 'd' }));

  it.each<[string, boolean, ChainEvent[]]>([
    [
      'agrees if it counts its logs differently',
      true,
      [event(1), event(0, { amount: '2' }), event(9, { contract: 'd' })],
    ],
    ['agrees if it leaves some out, as the blocks decide', true, [event(9, { contract: 'd' })]],
    [
      'differs in an event of another contract',
      false,
      [event(1), event(0, { amount: '2' }), event(8, { contract: 'd' })],
    ],
  ])('%s, where the events of a contract are proven', (_, agrees, events) => {
    expect(agree(ours, batch(...events))).toBe(false);
    expect(agree(ours, batch(...events), ['c'])).toBe(agrees);
  });

  it('agrees only if the second event of a log is also the same', () => {
    const [two, other] = ['8', '9'].map((amount) => batch(event(3, { second: event(3, { amount }) })));
    expect(agree(two, batch(event(3, { second: event(3, { amount: '8' }) })))).toBe(true);
    expect(agree(two, other)).toBe(false);
  });

  it('agrees if one of them does not know a count', () => {
    const counted = (...counts: BlockBatch['counts']): BlockBatch => ({ ...ours, counts });
    expect(agree(counted(2, undefined), counted(2, 1))).toBe(true);
    expect(agree(counted(2, undefined), counted(3, 1))).toBe(false);
  });
});
