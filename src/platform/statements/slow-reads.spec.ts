import { LIMITS } from '#platform/postgres/budget';
import type { BoundStatement } from '#platform/postgres/statement';
import { SlowReads, partyOf } from './slow-reads';

const list = { name: 'list', text: '', payer: 0 };
const open = { name: 'open', text: '' };
const of = (who: string, page = 1): BoundStatement => ({ statement: list, values: [who, page] });

describe('a slow read', () => {
  it('is known by its statement and party, whatever else it asks for', () => {
    const slow = new SlowReads(LIMITS);
    slow.note(of('a', 1), 0);
    expect(slow.has(of('a', 2), 1)).toBe(true);
    expect(slow.has(of('b', 1), 1)).toBe(false);
    expect(slow.has({ statement: { ...list, name: 'other' }, values: ['a'] }, 1)).toBe(false);
    expect([partyOf(of('a')), partyOf({ statement: open, values: [1] })]).toEqual(['a', open]);
  });

  it('without a party is known by what it asks for', () => {
    const slow = new SlowReads(LIMITS);
    slow.note({ statement: open, values: [100_000] }, 0);
    expect(slow.has({ statement: open, values: [100_000] }, 1)).toBe(true);
    expect(slow.has({ statement: open, values: [0] }, 1)).toBe(false);
  });

  it('is forgiven after a second, and later each time it is slow again', () => {
    const slow = new SlowReads(LIMITS);
    let now = 0;
    const lasts = (): number => {
      slow.note(of('a'), now);
      // Of the same moment.
      slow.note(of('a', 2), now);
      const begun = now;
      while (slow.has(of('a'), now)) now += 100;
      return now - begun;
    };
    const next = (): number => {
      now += 1;
      return lasts();
    };
    expect([lasts(), next(), next(), next(), next(), next()]).toEqual([
      1000, 2000, 4000, 8000, 16_000, 16_000,
    ]);
    now += 120_000;
    expect(lasts()).toBe(1000);
  });

  it('is forgotten when there are too many, and texts of any length cost the same', () => {
    const slow = new SlowReads(LIMITS);
    for (let i = 0; i <= 10_000; i++) slow.note(of(`${i}`), 0);
    expect([slow.has(of('0'), 1), slow.has(of('1'), 1), slow.has(of('10000'), 1)]).toEqual([
      false,
      true,
      true,
    ]);
    slow.note({ statement: open, values: [Object.create(null), 'x'.repeat(1e6)] }, 0);
  });
});

describe('the limit', () => {
  it('is longer where the server has to prepare a statement', () => {
    const slow = new SlowReads(LIMITS);
    expect(slow.limitMs(false)).toBeGreaterThan(slow.limitMs());
  });

  it('grows while most reads of many parties exceed it, and shrinks afterwards', () => {
    const slow = new SlowReads(LIMITS);
    for (let i = 0; i < 16; i++) slow.note(of(`${i}`), i);
    expect(slow.limitMs()).toBe(200);
    for (let i = 0; i < 100; i++) slow.note(of(`more ${i}`), i);
    expect(slow.limitMs()).toBe(400);
    for (let now = 0; now < 5000; now++) slow.completed(now);
    expect(slow.limitMs()).toBe(50);
  });

  it('does not grow for one party, nor for many while the others are quick', () => {
    const slow = new SlowReads(LIMITS);
    for (let page = 0; page < 100; page++) slow.note(of('a', page), page);
    for (let i = 0; i < 500; i++) {
      slow.completed(i);
      slow.completed(i);
      slow.note(of(`${i}`), i);
    }
    expect(slow.limitMs()).toBe(50);
  });
});
