import { MOST_BLOCKS, keptFrom, reachOf, undoneFrom } from './finality';

describe('headers are kept', () => {
  it.each([
    ['of the last 64 blocks when nobody says what is final', undefined, 9_936],
    ['of the last 64 blocks when finality is nearer', 9_998, 9_936],
    ['back to the last final block', 8_200, 8_200],
    ['of so many blocks at most, however long finality stalls', 5, 10_000 - MOST_BLOCKS],
  ])('%s', (_, finalized, from) => expect(keptFrom(10_000, finalized)).toBe(from));
});

describe('blocks are undone', () => {
  it.each([
    ['64 deep when nobody says what is final', undefined, 9_936],
    ['down to the last final block, be it near', 9_998, 9_998],
    ['down to the last final block, be it far', 8_200, 8_200],
    ['so deep at most, however long finality stalls', 5, 10_000 - MOST_BLOCKS],
  ])('%s', (_, finalized, from) => expect(undoneFrom(10_000, finalized)).toBe(from));
});

describe('a mark', () => {
  const block = (number: number, hash = `${number}`) => ({ number, hash, parentHash: '', time: 0 });
  /** The ledger's last block is 100, and it has kept those from 50 on. */
  const reach = (number: number, head: number, hash = `${number}`, blocks = [block(99), block(100)]) =>
    reachOf({ number, hashes: [hash] }, { to: block(100), blocks }, head, (at) =>
      Promise.resolve(at >= 50 ? `${at}` : undefined),
    );

  it.each([
    ['holds at the block that it names, in the batch', reach(99, 101), 99],
    ['holds at the last block of the batch', reach(100, 101), 100],
    ['holds at a block that is kept', reach(60, 101), 60],
    ['holds at a deep block whose header is not kept', reach(10, 101), 10],
    ['holds for all of a deep batch', reach(5_000, 9_000), 100],
    ['says nothing where the ledger has another block', reach(99, 101, 'other'), undefined],
    ['says nothing where a kept block is another', reach(60, 101, 'other'), undefined],
    [
      'ahead of the ledger says nothing near the head, where the ledger may be on another branch',
      reach(101, 101),
      undefined,
    ],
    ['says nothing of a block near the head that is not kept', reach(45, 101), undefined],
  ])('%s', async (_, found, expected) => expect(await found).toBe(expected));
});
