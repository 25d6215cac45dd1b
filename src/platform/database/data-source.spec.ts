import { LIMITS } from '#platform/postgres/budget';
import { PostgresSettings } from '#platform/postgres/postgres.settings';
import { namedStatementSettings, poolSizes } from './data-source';

describe('poolSizes', () => {
  it('divides all connections of a process, at least one for each pool', () => {
    for (let total = 2; total <= 500; total++) {
      const { typeorm, reads, slow, writes } = poolSizes(total);
      expect(typeorm + reads + writes).toBe(total);
      expect(typeorm).toBeGreaterThanOrEqual(1);
      expect(reads).toBeGreaterThanOrEqual(total > 3 ? 1 : 0);
      // Slow reads leave one to writes.
      expect(writes).toBeGreaterThanOrEqual(reads ? slow + 1 : 1);
    }
  });

  it.each([
    [2, { typeorm: 1, reads: 0, slow: 1, writes: 1 }],
    [4, { typeorm: 1, reads: 1, slow: 1, writes: 2 }],
    [7, { typeorm: 1, reads: 2, slow: 1, writes: 4 }],
    [10, { typeorm: 2, reads: 3, slow: 1, writes: 5 }],
    [20, { typeorm: 6, reads: 4, slow: 2, writes: 10 }],
  ])('%i', (total, sizes) => {
    expect(poolSizes(total)).toEqual(sizes);
  });
});

it('named statements have the limits of the budget, in ms', () => {
  const { lock_timeout, statement_timeout } = namedStatementSettings(new PostgresSettings());
  // From the moment of sending, which may be 1500 ms after the request.
  expect({ lock_timeout, statement_timeout }).toEqual({ lock_timeout: '800', statement_timeout: '2500' });
});

it('limits are reached one after the other, within the five seconds of an answer', () => {
  const { amongOthersMs, lockMs, standbyMs, sendMs, resendMs, deadlineMs, runningMs, answerMs } = LIMITS;
  const line = [amongOthersMs, lockMs, standbyMs, sendMs, resendMs, deadlineMs, runningMs, answerMs, 5000];
  expect(line).toEqual([...new Set(line)].sort((a, b) => a - b));
  expect(sendMs + lockMs).toBeLessThan(runningMs);
});
