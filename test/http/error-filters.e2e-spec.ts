import {
  type ArgumentsHost,
  Catch,
  ConflictException,
  Controller,
  Get,
  HttpException,
  type MiddlewareConsumer,
  Module,
  type NestModule,
  NotFoundException,
  type Type,
  UseFilters,
} from '@nestjs/common';
import { APP_FILTER, BaseExceptionFilter, NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';
import pino from 'pino';
import { EnvelopeAdapter } from '#platform/answers/envelope.adapter';
import { describeError, hideText } from '#platform/errors/error.filter';
import { ApiError } from '#platform/errors/errors';
import { Public } from '#features/access/auth.guard';
import { type TestApp, useApp } from '../support/app';

const SECRET = 'password of 10.0.0.7';
const THROWN: Record<string, () => unknown> = {
  http: () => new ConflictException('is taken'),
  object: () => new HttpException({ message: 'no', size: 3 }, 422),
  api: () => new ApiError(409, 'no draw', { code: 'conflict', details: [{ field: 'a', message: 'b' }] }),
  unknown: () => new Error(SECRET),
  text: () => SECRET,
  plugin: () => Object.assign(new Error(SECRET), { code: 'FST_X', statusCode: 413 }),
  missing: () => new NotFoundException(),
  unavailable: () => new ApiError(503, 'Service unavailable'),
};
/** As its own tests have it. Every body repeats its text as `message`. */
const BODIES = Object.fromEntries(
  Object.entries(THROWN).map(([kind, make]) => {
    const { status, body } = describeError(hideText(make()));
    return [kind, [status, { ...body, message: body.error }]];
  }),
);

/** What NestJS's documentation calls inheritance of filters. */
@Catch()
class Passing extends BaseExceptionFilter {
  static caught: unknown[] = [];

  override catch(exception: unknown, host: ArgumentsHost): void {
    Passing.caught.push(exception);
    super.catch(exception, host);
  }
}

const fail = (kind: string): never => {
  throw THROWN[kind]();
};
const routes = (path: string, ...decorators: ClassDecorator[]) => {
  @Controller(path)
  @Public()
  class Failing {}
  for (const kind of Object.keys(THROWN)) {
    const value = (): never => fail(kind);
    Object.defineProperty(Failing.prototype, kind, { value, configurable: true, writable: true });
    const descriptor = { value };
    Get(kind)(Failing.prototype, kind, descriptor);
    if (path === 'of-handler') UseFilters(Passing)(Failing.prototype, kind, descriptor);
  }
  for (const decorate of decorators) decorate(Failing);
  return Failing;
};

@Module({
  controllers: [routes('of-handler'), routes('plain')],
})
class FailingModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(() => fail('unknown')).forRoutes('plain/middleware');
  }
}

@Module({ providers: [{ provide: APP_FILTER, useClass: Passing }] })
class GlobalFilter {}

/** These routes are not in the document that TestApp holds answers against. */
async function ask(app: TestApp, url: string) {
  const { statusCode: status, payload, headers } = await app.nest.inject({ method: 'GET', url });
  return { status, headers, body: JSON.parse(payload) as unknown };
}

const KINDS = Object.keys(THROWN);

const kindsAt = (path: string) => KINDS.map((kind): [string, string] => [`${path}/${kind}`, kind]);

describe.each<[string, Type[], [path: string, kind: string][]]>([
  ['of a module', [], kindsAt('of-handler')],
  [
    'that is global',
    [GlobalFilter],
    [...kindsAt('plain'), ['plain/middleware', 'unknown'], ['unknown/path', 'missing']],
  ],
])('a filter %s that extends BaseExceptionFilter', (_, more, paths) => {
  const app = useApp({}, { modules: [FailingModule, ...more] });
  beforeEach(() => (Passing.caught = []));

  it.each(paths)('keeps the error form: /%s', async (path, kind) => {
    const { status, body, headers } = await ask(app, `/${path}`);
    expect([status, body]).toEqual(BODIES[kind]);
    expect(Passing.caught).toHaveLength(1);
    expect(headers['retry-after']).toBe(kind === 'unavailable' ? '1' : undefined);
  });
});

it('leaves other applications of the process their form', async () => {
  @Module({ controllers: [routes('other', UseFilters(Passing))] })
  class Other {}
  const app = await NestFactory.create(Other, new FastifyAdapter(), { logger: false });
  await app.init();
  const answer = await (app.getHttpAdapter() as FastifyAdapter).inject({ method: 'GET', url: '/other/http' });
  await app.close();
  expect(answer.json()).toEqual({ statusCode: 409, error: 'Conflict', message: 'is taken' });
});

it('the adapter answers to the name that libraries look for', () => {
  expect([EnvelopeAdapter.name, new EnvelopeAdapter({}).getType()]).toEqual(['FastifyAdapter', 'fastify']);
  expect(new EnvelopeAdapter({}).constructor.name).toBe('FastifyAdapter');
});

describe('onError', () => {
  const lines: string[] = [];
  const logger = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) });
  const reported: [unknown, FastifyRequest][] = [];
  let fails: (() => unknown) | undefined;
  const app = useApp(
    {},
    {
      modules: [FailingModule],
      logger,
      onError: (error, request) => {
        reported.push([error, request]);
        return fails?.();
      },
    },
  );
  beforeEach(() => {
    reported.length = lines.length = 0;
    fails = undefined;
  });

  it.each(KINDS)('gets what becomes a 5xx, and nothing else: %s', async (kind) => {
    const { status } = await ask(app, `/plain/${kind}`);
    expect(reported).toHaveLength(status >= 500 ? 1 : 0);
  });

  it('gets the error itself, and its request', async () => {
    await ask(app, '/plain/unknown?_=1');
    const [[error, request]] = reported;
    expect((error as Error).message).toBe(SECRET);
    expect(request.url).toBe('/plain/unknown?_=1');
  });

  it('gets those of middleware and of filters that pass them on', async () => {
    for (const path of ['plain/middleware', 'of-handler/unknown']) {
      expect((await ask(app, `/${path}`)).status).toBe(500);
      expect(reported.pop()?.[1].originalUrl).toBe(`/${path}`);
    }
  });

  it('gets nothing of refused and unknown requests', async () => {
    for (const path of ['/unknown', '/pools', '/%zz', '/plain/http']) await ask(app, path);
    expect(reported).toEqual([]);
  });

  it.each([
    ['throws', (): never => fail('unknown')],
    ['rejects', () => Promise.reject(new Error('reporter is down'))],
  ])('cannot break the answer: it %s', async (_, failure) => {
    fails = failure;
    const { status, body } = await ask(app, '/plain/unknown');
    expect([status, body]).toEqual(BODIES.unknown);
    await new Promise(setImmediate);
    expect(lines.filter((line) => line.includes('onError failed'))).toHaveLength(1);
    expect(reported).toHaveLength(1);
  });
});
