import {
  type CallHandler,
  type CanActivate,
  Controller,
  Get,
  Module,
  type NestInterceptor,
  Query,
  RequestMethod,
  UseGuards,
  UseInterceptors,
  Version,
  VersioningType,
} from '@nestjs/common';
import { ApplicationConfig, ModulesContainer, NestFactory, RouterModule } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
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
