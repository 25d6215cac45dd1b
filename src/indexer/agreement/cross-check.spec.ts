import { type Stance, verdict } from './cross-check';

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
