import { All, Controller, Get, Module } from '@nestjs/common';
import { SkipThrottle, Throttle } from '@nestjs/throttler';
import { TestApp, useApp } from '../support/app';
import { LimitsModule } from '../support/example/limits';
import { itThrottles } from '../support/throttling';

const LIMITS = { RATE_LIMIT_GENERAL: '20', RATE_LIMIT_AUTH: '3' };

describe('limits by decorators', () => {
  const app = useApp(LIMITS, { modules: [LimitsModule] });
  itThrottles(() => [app]);

  it('a ThrottlerGuard counts by the ThrottlerModule of its own module', async () => {
    const send = async () => (await app.nest.inject({ url: '/example/unlimited/guarded' })).statusCode;
    expect([await send(), await send(), await send()]).toEqual([200, 200, 429]);
  });
});

describe('an unknown path beneath /auth', () => {
  const app = useApp({ ...LIMITS, TRUST_PROXY: '127.0.0.1' });
  // By a socket, so that nothing rewrites the path on its way.
  beforeAll(() => app.listen());
  const limitOf = async (url: string): Promise<string | undefined> =>
    (await app.send({ url, headers: { 'x-forwarded-for': '203.0.113.1' } })).headers['x-ratelimit-limit'];

  it.each(
    `/auth/x /%61uth/x //auth//x /AUTH/x /./auth/x /x/../auth /api/%61pi/auth /auth%2fx
    /auth?x=/pools /auth/%zz /auth%5Cx /x/..%2fauth /x%2f%2e%2e%2fauth /.%2fauth#x`.split(/\s+/),
  )('counts as sign-in: %s', async (url) => expect(await limitOf(url)).toBe('3'));

  it.each(['/authority', '/pools/auth', '/auth/../nowhere', '/x?/auth', '/x%3f/auth'])(
    'is none of these: %s',
    async (url) => expect(await limitOf(url)).toBe('20'),
  );
});

describe('routes of Fastify', () => {
  const app = useApp(LIMITS, {
    prepare: (nest) => {
      const fastify = nest.getHttpAdapter().getInstance();
      const answer = (): string => 'raw';
      fastify.get('/raw/shared', answer);
      fastify.get('/raw/own', { config: { throttle: { general: { limit: 1, ttl: 1000 } } } }, answer);
      fastify.get('/raw/free', { config: { skipThrottle: true } }, answer);
      fastify.get('/raw/sign-in', { config: { throttle: { auth: {} } } }, answer);
    },
  });

  it.each([
    ['shared', '20'],
    ['own', '1'],
    ['free', undefined],
    ['sign-in', '3'],
  ])('say it in their config: %s', async (path, limit) => {
    const { headers } = await app.nest.inject({ url: `/raw/${path}` });
    expect(headers['x-ratelimit-limit']).toBe(limit);
  });
});

describe('a handler of all methods', () => {
  @Controller('any')
  class AnyController {
    @All(['', ':id'])
    @Throttle({ general: { limit: 13 } })
    any(): string {
      return 'any';
    }
  }
  @Module({ controllers: [AnyController] })
  class AnyModule {}
  const app = useApp(LIMITS, { modules: [AnyModule] });

  it.each(['GET', 'HEAD', 'PUT'] as const)('has its limit by %s', async (method) => {
    for (const url of ['/any', '/any/x'])
      expect((await app.nest.inject({ method, url })).headers['x-ratelimit-limit']).toBe('13');
  });
});

describe('what is not supported stops the start', () => {
  const handler = (decorator: MethodDecorator): new () => object => {
    @Controller('wrong')
    class WrongController {
      @Get()
      @decorator
      get(): void {
        return undefined;
      }
    }
    return WrongController;
  };

  it.each([
    [
      'an unknown name',
      Throttle({ genral: { limit: 1 } }),
      'WrongController.get: THROTTLER:LIMITgenral is not supported: limits are general, auth',
    ],
    ['an unknown name alone', Throttle({ auht: {} }), 'THROTTLER:LIMITauht is not supported'],
    ['an unknown name that is skipped', SkipThrottle({ atuh: true }), 'THROTTLER:SKIPatuh is not supported'],
    [
      'a block',
      Throttle({ general: { limit: 1, ttl: 1, blockDuration: 9 } }),
      'THROTTLER:BLOCK_DURATIONgeneral is not supported',
    ],
    [
      'a tracker',
      Throttle({ general: { getTracker: () => 'all' } }),
      'THROTTLER:TRACKERgeneral is not supported',
    ],
    [
      'a limit by function',
      Throttle({ general: { limit: () => 1 } }),
      'limit of WrongController.get: general must be a number',
    ],
    [
      'a window by function',
      Throttle({ general: { ttl: () => 1 } }),
      'ttl of WrongController.get: general must be a number',
    ],
    [
      'a window without length',
      Throttle({ auth: { ttl: 0 } }),
      'ttl of WrongController.get: auth must be a number from 1',
    ],
    ['a limit that is none', Throttle({ auth: { limit: NaN } }), 'must be a number from 0, not NaN'],
  ])('%s', async (_, decorator, message) => {
    const app = new TestApp();
    const controllers = [handler(decorator)];
    class WrongModule {}
    const started = app.start({}, undefined, undefined, { modules: [{ module: WrongModule, controllers }] });
    await expect(started).rejects.toThrow(message);
    await app.stop();
  });
});
