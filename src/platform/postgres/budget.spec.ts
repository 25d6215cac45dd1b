import { CONNECT_MS, LIMITS, LOCK_MS, RUNNING_MS, STANDBY_MS } from './budget';

it('keeps the order of the deadlines, within five seconds', () => {
  const { sendMs, resendMs, deadlineMs, answerMs } = LIMITS;
  const line = [0, LOCK_MS, STANDBY_MS, sendMs, resendMs, deadlineMs, RUNNING_MS, answerMs, 5000];
  expect(line).toEqual([...new Set(line)].sort((a, b) => a - b));
  expect(line).toEqual([0, 800, 1000, 1500, 3600, 3900, 4000, 4500, 5000]);
});

it('leaves time to run a statement that waited for its connection', () => {
  expect(CONNECT_MS).toBeLessThanOrEqual(LIMITS.sendMs);
  expect(CONNECT_MS + LOCK_MS).toBeLessThan(RUNNING_MS);
});
