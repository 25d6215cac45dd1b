import {
  type ArgumentsHost,
  type CallHandler,
  type CanActivate,
  Catch,
  ConflictException,
  Controller,
  Get,
  Module,
  type NestInterceptor,
  Query,
  RequestMethod,
  UseFilters,
  UseGuards,
  UseInterceptors,
  Version,
  VersioningType,
} from '@nestjs/common';
import {
  ApplicationConfig,
  BaseExceptionFilter,
  ModulesContainer,
  NestFactory,
  RouterModule,
} from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply } from 'fastify';
import {
  ExecutionContextHost,
  FORBIDDEN_MESSAGE,
  INTERCEPTORS_METADATA,
  METHOD_METADATA,
  MODULE_PATH,
  PATH_METADATA,
  ROUTE_ARGS_METADATA,
  RouteParamtypes,
  RoutePathFactory,
  VERSION_METADATA,
  replaceBaseCatch,
} from './nest-internals';

class Nobody implements CanActivate {
  canActivate = (): boolean => false;
}

class Passing implements NestInterceptor {
  intercept = (_: unknown, next: CallHandler): ReturnType<CallHandler['handle']> => next.handle();
}

@Controller({ path: 'shelves', version: '1' })
class Shelves {
  @Get('books')
  @Version('2')
  @UseGuards(Nobody)
  @UseInterceptors(Passing)
  books(@Query() query: object, @Query('n') n: string): unknown {
    return { query, n };
  }
}

@Module({ controllers: [Shelves] })
class Library {}

@Module({ imports: [Library, RouterModule.register([{ path: 'library', module: Library }])] })
class Root {}

describe('the insides of NestJS that we use', () => {
  const urls: string[] = [];
  let app: NestFastifyApplication;
  beforeAll(async () => {
    const adapter = new FastifyAdapter();
    adapter.getInstance().addHook('onRoute', ({ method, url }) => void urls.push(`${String(method)} ${url}`));
    app = await NestFactory.create(Root, adapter, { logger: false });
    app.setGlobalPrefix('api').enableVersioning({ type: VersioningType.URI });
    await app.init();
  });
  afterAll(() => app.close());

  // eslint-disable-next-line @typescript-eslint/unbound-method
  const handler = Shelves.prototype.books;
  const read = (key: string, of: object = handler): unknown => Reflect.getMetadata(key, of);

  it.each([
    ['PATH_METADATA of a controller', () => read(PATH_METADATA, Shelves), 'shelves'],
    ['VERSION_METADATA of a controller', () => read(VERSION_METADATA, Shelves), '1'],
    ['PATH_METADATA of a handler', () => read(PATH_METADATA), 'books'],
    ['METHOD_METADATA', () => read(METHOD_METADATA), RequestMethod.GET],
    ['VERSION_METADATA of a handler', () => read(VERSION_METADATA), '2'],
    ['INTERCEPTORS_METADATA', () => read(INTERCEPTORS_METADATA), [Passing]],
    [
      'ROUTE_ARGS_METADATA and RouteParamtypes',
      () => Reflect.getMetadata(ROUTE_ARGS_METADATA, Shelves, 'books') as unknown,
      {
        [`${RouteParamtypes.QUERY}:0`]: expect.objectContaining({ index: 0, data: undefined }) as unknown,
        [`${RouteParamtypes.QUERY}:1`]: expect.objectContaining({ index: 1, data: 'n' }) as unknown,
      },
    ],
    [
      'MODULE_PATH with ModulesContainer.applicationId',
      () => read(MODULE_PATH + app.get(ModulesContainer).applicationId, Library),
      '/library',
    ],
  ])('%s', (_, found, expected) => expect(found()).toEqual(expected));

  it('RoutePathFactory makes the paths that the router has', () => {
    const options = {
      ...{ ctrlPath: '/shelves', modulePath: '/library', methodPath: '/books', globalPrefix: '/api' },
      ...{
        controllerVersion: '1',
        methodVersion: '2',
        versioningOptions: { type: VersioningType.URI as const },
      },
    };
    const paths = new RoutePathFactory(app.get(ApplicationConfig)).create(options, RequestMethod.GET);
    expect(paths).toEqual(['/api/v2/library/shelves/books']);
    expect(urls).toContain(`GET ${paths[0]}`);
  });

  it('FORBIDDEN_MESSAGE is the text when a guard refuses', async () => {
    const answer = await app.inject({ method: 'GET', url: '/api/v2/library/shelves/books' });
    expect(answer.json()).toMatchObject({ statusCode: 403, message: FORBIDDEN_MESSAGE });
  });

  it('ExecutionContextHost is the context that guards get', () => {
    const host = new ExecutionContextHost(['request', 'reply'], Shelves, handler);
    host.setType('http');
    expect([host.getType(), host.getClass(), host.getHandler()]).toEqual(['http', Shelves, handler]);
    expect(host.switchToHttp().getRequest()).toBe('request');
    expect(host.switchToHttp().getResponse()).toBe('reply');
  });
});

describe('replaceBaseCatch', () => {
  const exception = new ConflictException('is taken');
  const response = {};
  const host = new ExecutionContextHost(['request', response]);
  const adapter = { isHeadersSent: () => false, reply: jest.fn(), end: jest.fn() };
  const asked: unknown[] = [];
  const ours = { catch: jest.fn((_: unknown, of: ArgumentsHost) => of.switchToHttp().getResponse<object>()) };
  let isOurs = true;

  @Catch()
  class Passing extends BaseExceptionFilter {
    override catch(caught: unknown, of: ArgumentsHost): void {
      super.catch(caught, of);
    }
  }
  /** As NestJS injects it into filters that it makes itself. */
  const injected = (): Passing => Object.assign(new Passing(), { httpAdapterHost: { httpAdapter: adapter } });

  beforeAll(() =>
    replaceBaseCatch((each) => {
      asked.push(each);
      return isOurs ? ours : undefined;
    }),
  );
  beforeEach(() => {
    jest.clearAllMocks();
    asked.length = 0;
    isOurs = true;
  });

  it.each<[string, () => Passing]>([
    ['applicationRef', () => new Passing(adapter as never)],
    ['httpAdapterHost', injected],
  ])('knows the application by %s, and catches in place of NestJS', (_, filter) => {
    filter().catch(exception, host);
    expect(asked).toEqual([adapter]);
    expect(ours.catch.mock.calls).toEqual([[exception, host]]);
    expect(adapter.reply).not.toHaveBeenCalled();
  });

  it.each<[string, () => Passing]>([
    ['applicationRef', () => new Passing(adapter as never)],
    ['httpAdapterHost', injected],
  ])('else leaves it to NestJS, which replies by the adapter, without the exception: %s', (_, filter) => {
    isOurs = false;
    filter().catch(exception, host);
    expect(ours.catch).not.toHaveBeenCalled();
    expect(adapter.reply.mock.calls).toEqual([[response, exception.getResponse(), 409]]);
  });

  it('gets the adapter from filters that NestJS makes, and from those for all routes', async () => {
    @Controller()
    class Failing {
      @Get('with')
      @UseFilters(Passing)
      withFilter(): never {
        throw exception;
      }

      @Get('without')
      without(): never {
        throw exception;
      }
    }
    @Module({ controllers: [Failing] })
    class FailingModule {}
    ours.catch.mockImplementation((_, of) => of.switchToHttp().getResponse<FastifyReply>().send('ours'));
    const real = new FastifyAdapter();
    const app = await NestFactory.create<NestFastifyApplication>(FailingModule, real, { logger: false });
    await app.init();
    for (const url of ['/with', '/without']) {
      expect((await app.inject({ url })).payload).toBe('ours');
      expect(asked.pop()).toBe(real);
    }
    await app.close();
  });
});
