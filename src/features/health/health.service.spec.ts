import type { Database } from '#platform/database/database';
import type { RateLimitStorage } from '#platform/limits/rate-limit.storage';
import { HealthService } from './health.service';

it('a report reads again while an earlier read hangs', async () => {
  const answers = [
    new Promise(() => undefined),
    Promise.resolve({ state: 'synced', stale: false, block: 1 }),
  ];
  const database = { read: () => answers.shift() } as unknown as Database;
  const health = new HealthService(database, { status: 'disabled' } as unknown as RateLimitStorage);
  expect((await health.report()).status).toBe('unhealthy');
  expect((await health.report()).status).toBe('healthy');
});
