import { judgeMarks } from './marks';

/** An endpoint that calls this block final, with a hash of its own. */
const says = (number?: number, hash = `${number}`) => ({
  tagged: number === undefined ? {} : { finalized: { number, hash, parentHash: '', time: 0 } },
});
const finalized = (endpoints: ReturnType<typeof says>[], agree = 1): unknown =>
  judgeMarks(endpoints, agree).finalized?.number;

describe('the last final block', () => {
  it.each([
    ['that of the only endpoint', [says(7)], 1, 7],
    ['that of the second of two, when one is ahead', [says(90), says(7)], 1, 7],
    ['that of two of three, when one lies ahead', [says(7), says(90), says(8)], 1, 8],
    ['that of two of three, when one is behind', [says(7), says(1), says(7)], 1, 7],
    ['that of so many as have to agree', [says(7), says(8), says(9)], 3, 7],
    ['unknown when one of two says nothing', [says(7), says()], 1, undefined],
    ['that of two of three, when one says nothing', [says(7), says(), says(9)], 1, 7],
    ['unknown when none says it', [says(), says()], 1, undefined],
    ['unknown without endpoints', [], 1, undefined],
  ])('is %s', (_, endpoints, agree, expected) => expect(finalized(endpoints, agree)).toBe(expected));

  it('has the hash of any endpoint that names it', () =>
    expect(judgeMarks([says(7, 'a'), says(9), says(7, 'b')], 2).finalized?.hashes).toEqual(['a', 'b']));
});
