import type { Client } from 'pg';
import { RangeSize } from '#indexer/reading/range-size';
import { Courtesy, FULL_SPEED, paceFor, restAfter } from './courtesy';

it('the busier others are, the smaller are batches, and the longer the rests', () => {
  const paces = [0, 99, 100, 249, 250, 1e6].map(paceFor);
  expect(paces.map(({ events }) => events)).toEqual([8000, 8000, 1500, 1500, 500, 500]);
  expect(paces.map((pace) => restAfter(100, pace))).toEqual([0, 0, 100, 100, 300, 300]);
  expect(restAfter(60_000, paceFor(1e6))).toBe(1000);
});

it('a range shrinks at once, never to nothing, and grows again with what it finds', () => {
  const range = new RangeSize();
  range.blocks = 80;
  range.aim(500);
  expect(range.blocks).toBe(5);
  range.adapt(500, 5);
  expect(range.blocks).toBe(5);
  range.aim(1);
  expect(range.blocks).toBe(1);
  range.aim(FULL_SPEED.events);
  while (range.blocks < 64) range.adapt(range.blocks * 100, range.blocks);
  range.adapt(6400, 64);
  expect(range.blocks).toBe(64);
});

describe('others', () => {
  let transactions: number;
  let now: number;
  let asked: number;
  let courtesy: Courtesy;
  beforeEach(() => {
    transactions = now = asked = 0;
    const query = (): unknown => {
      asked++;
      return Promise.resolve({ rows: [{ transactions: `${transactions}` }] });
    };
    courtesy = new Courtesy({ query } as unknown as Client);
    jest.spyOn(performance, 'now').mockImplementation(() => now);
  });
  afterEach(() => jest.restoreAllMocks());

  /** A second in which the indexer writes so many batches, and others do so many transactions. */
  async function second(batches: number, others: number): Promise<number> {
    for (let i = 0; i < batches; i++) {
      now += 1000 / batches;
      transactions += 1 + others / batches;
      await courtesy.look();
    }
    return (await courtesy.look()).events;
  }

  it('are not the indexer itself, however many batches it writes', async () => {
    for (let i = 0; i < 5; i++) expect(await second(200, 0)).toBe(8000);
    expect(asked).toBeLessThanOrEqual(6);
  });

  it('slow it down within two seconds, and no longer than they work', async () => {
    await second(10, 0);
    await second(10, 400);
    expect(await second(10, 400)).toBe(500);
    await second(10, 0);
    expect(await second(10, 0)).toBe(8000);
  });
});
