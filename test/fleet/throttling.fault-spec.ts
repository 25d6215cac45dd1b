import { TestApp } from '../support/app';
import { LimitsModule } from '../support/example/limits';
import { RedisServer, eventually } from '../support/processes/processes';
import { itThrottles } from '../support/throttling';

describe('limits by decorators, counted in Redis by two replicas', () => {
  let redis: RedisServer;
  const apps = [new TestApp(), new TestApp()];
  beforeAll(async () => {
    redis = await RedisServer.start();
    const settings = { RATE_LIMIT_GENERAL: '20', RATE_LIMIT_AUTH: '3', REDIS_URL: redis.url };
    for (const app of apps) await app.start(settings, undefined, undefined, { modules: [LimitsModule] });
    for (const app of apps)
      await eventually(async () => (await app.get('/health')).body.services.redis === 'connected');
  });
  afterAll(async () => {
    for (const app of apps) await app.stop();
    await redis?.end('SIGKILL');
  });

  itThrottles(() => apps);
});
