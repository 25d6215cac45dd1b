import { StartBlocks } from '#settings/start-blocks';
import type { EventWriter } from '#indexer/ledger/event-writer';
import type { ChainEvent } from '#indexer/reading/decode';
import { SequenceCheck, SequenceGap } from './sequence-check';

const CONTRACT = `0x${'c1'.repeat(20)}`;

/** What the database says: event 7 in block 40, and up to where the counts proved the ledger complete. */
async function checkOf(proven: number): Promise<SequenceCheck> {
  const check = new SequenceCheck([CONTRACT], new StartBlocks(1));
  await check.load({
    lastEvents: () => Promise.resolve(new Map([[CONTRACT, { seq: 7, block: 40 }]])),
    provenBlock: () => Promise.resolve(proven),
  } as unknown as EventWriter);
  return check;
}

it.each([
  ['between events', 9, 9],
  ['at their end', 8, 9],
])('missing numbers %s are a gap', async (_, seq, count) => {
  const check = await checkOf(0);
  const events = [{ contract: CONTRACT, seq }] as ChainEvent[];
  expect(() => check.check({ events, contracts: [CONTRACT], counts: [count] })).toThrow(SequenceGap);
});

it('a batch whose counts are known proves that no event is missing up to its end', async () => {
  const check = await checkOf(0);
  const to = { number: 95, hash: '0x', parentHash: '0x', time: 0 };
  const batch = { to, blocks: [], events: [], contracts: [CONTRACT], counts: [7] };
  expect(check.check(batch)).toBe(true);
  expect(check.check({ ...batch, counts: [undefined] })).toBe(false);
  check.advance(batch, true);
  expect([95, 96].map((block) => check.isProven(block))).toEqual([true, false]);
});
