import { OutageLog, Repeats } from './outage-log';

it('tells an outage once, and its end', () => {
  const lines: string[] = [];
  const logger = {
    warn: (text: string) => lines.push(`warn ${text}`),
    log: (text: string) => lines.push(text),
  };
  const outage = new OutageLog(logger, 'has to wait', 'goes on');
  outage.succeeded();
  for (let round = 0; round < 2; round++) {
    outage.failed(new Error('gone'));
    outage.failed(new Error('still gone'));
    outage.succeeded();
    outage.succeeded();
  }
  expect(lines).toEqual(['warn has to wait: gone', 'goes on', 'warn has to wait: gone', 'goes on']);
});

const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await new Promise(setImmediate);
};

describe('Repeats', () => {
  it('tells the first of a cause, then how many were left out, then the next', async () => {
    const repeats = new Repeats(20);
    const told: number[] = [];
    const tell = (count: number): unknown => told.push(count);
    expect([1, 2, 3].map(() => repeats.isFirst('out', tell))).toEqual([true, false, false]);
    expect(repeats.isFirst('another', tell)).toBe(true);
    await until(() => told.length > 0);
    expect(told).toEqual([2]);
    expect(repeats.isFirst('out', tell)).toBe(true);
  });

  it('has a bound, however many causes there are', () => {
    const repeats = new Repeats();
    const told = Array.from({ length: 1000 }, (_, i) => repeats.isFirst(`of ${i}`, () => undefined));
    expect(told.filter(Boolean).length).toBe(21);
  });
});
