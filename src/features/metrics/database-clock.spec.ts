import { Gauge, Registry } from 'prom-client';
import type { Database } from '#platform/database/database';
import { DatabaseClock } from './database-clock';

describe('the clock of the database', () => {
  // Answers arrive instantly.
  beforeAll(
    () => void [Date, performance].forEach((clock) => jest.spyOn(clock, 'now').mockReturnValue(1e12)),
  );
  afterAll(() => jest.restoreAllMocks());

  async function measured(read: () => Promise<{ seconds: number }>): Promise<number> {
    const gauge = new Gauge({ name: 'offset', help: 'Of this test', registers: [new Registry()] });
    await new DatabaseClock({ read } as unknown as Database, gauge).measure();
    return (await gauge.get()).values[0].value;
  }
  const ahead = (seconds: number) => (): Promise<{ seconds: number }> =>
    Promise.resolve({ seconds: Date.now() / 1000 + seconds });

  it('reports how far it is ahead or behind', async () => {
    expect(await measured(ahead(0.3))).toBeCloseTo(0.3, 1);
    expect(await measured(ahead(-90))).toBeCloseTo(-90, 1);
  });

  it('is not reported while the database does not answer', async () => {
    expect(await measured(() => Promise.reject(new Error('gone')))).toBe(0);
  });
});
