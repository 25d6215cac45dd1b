import { Injectable, RequestMethod, type Type } from '@nestjs/common';
import { ApplicationConfig, MetadataScanner, ModulesContainer } from '@nestjs/core';
import type { RouteOptions } from 'fastify';
import {
  METHOD_METADATA,
  MODULE_PATH,
  PATH_METADATA,
  RoutePathFactory,
  VERSION_METADATA,
} from '#platform/foreign/nest-internals';

type Handler = (...args: unknown[]) => unknown;
type PathOptions = Parameters<RoutePathFactory['create']>[0];

/** What NestJS calls for a Fastify route. */
export interface RouteTarget {
  controller: Type;
  handler: Handler;
  /** Name of the handler in its controller. */
  method: string;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Absent for Fastify's own routes. */
    target?: RouteTarget;
  }
}

/**
 * Knows which handler of which controller each Fastify route calls. So what decorators say about a route can be read
 * once at startup, and hooks that run before NestJS can use it.
 *
 * NestJS hands Fastify a wrapper that names neither the handler nor its controller. It carries the handler's metadata,
 * so `@RouteConfig()` could name the handler, but not the controller: a handler that several controllers inherit is one
 * function with one metadata. So this class makes the paths of all handlers with NestJS's own factory, and finds a
 * route's handler by its path. Handlers with the same path (versions, constraints) come in NestJS's order.
 */
@Injectable()
export class RouteTargets {
  /** Paths of all controllers, without the paths of their handlers. */
  readonly controllers: { controller: Type; path: string }[] = [];
  private readonly waiting = new Map<string, RouteTarget[]>();
  private lastGet?: RouteTarget;
  private readonly paths: RoutePathFactory;

  private readonly scanner = new MetadataScanner();

  constructor(
    private readonly modules: ModulesContainer,
    private readonly config: ApplicationConfig,
  ) {
    this.paths = new RoutePathFactory(config);
  }

  /** Reads the controllers. Call it after setting prefix and versioning, and before initialising the application. */
  learn(): void {
    for (const module of this.modules.values()) {
      const modulePath = (Reflect.getMetadata(MODULE_PATH + this.modules.applicationId, module.metatype) ??
        Reflect.getMetadata(MODULE_PATH, module.metatype)) as string | undefined;
      for (const { metatype } of module.controllers.values())
        this.learnController(metatype as Type, modulePath);
    }
  }

  /** Fastify hook that sets `config.target`. */
  readonly onRoute = (route: RouteOptions): void => {
    const methods = [route.method].flat();
    const target = this.take(methods, route.url);
    if (target) route.config = { ...route.config, target };
  };

  private learnController(controller: Type, modulePath?: string): void {
    const versioningOptions = this.config.getVersioning();
    const version: unknown = Reflect.getMetadata(VERSION_METADATA, controller);
    const controllerVersion = (version ??
      versioningOptions?.defaultVersion) as PathOptions['controllerVersion'];
    for (const ctrlPath of listOf(Reflect.getMetadata(PATH_METADATA, controller))) {
      const options: PathOptions = {
        ctrlPath,
        modulePath,
        globalPrefix: slashed(this.config.getGlobalPrefix()),
        controllerVersion,
        versioningOptions,
      };
      for (const path of this.paths.create(options)) this.controllers.push({ controller, path });
      for (const method of this.scanner.getAllMethodNames(controller.prototype as object))
        this.learnHandler({ controller, method, handler: handlerOf(controller, method) }, options);
    }
  }

  private learnHandler(target: RouteTarget, options: PathOptions): void {
    const { handler } = target;
    const path: unknown = Reflect.getMetadata(PATH_METADATA, handler);
    if (path === undefined) return;
    const requestMethod = Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod;
    const methodVersion = Reflect.getMetadata(VERSION_METADATA, handler) as PathOptions['methodVersion'];
    for (const methodPath of listOf(path))
      for (const url of this.paths.create({ ...options, methodPath, methodVersion }, requestMethod)) {
        const key = `${RequestMethod[requestMethod]} ${url}`;
        this.waiting.set(key, [...(this.waiting.get(key) ?? []), target]);
      }
  }

  private take([method, ...more]: string[], url: string): RouteTarget | undefined {
    // Fastify adds a HEAD route after each GET.
    if (method === 'HEAD' && !this.waiting.has(`HEAD ${url}`)) return this.lastGet;
    const own = more.length === 0 ? this.waiting.get(`${method} ${url}`)?.shift() : undefined;
    const target = own ?? this.waiting.get(`ALL ${url}`)?.shift();
    if (method === 'GET') this.lastGet = target;
    return target;
  }
}

const handlerOf = ({ prototype }: Type, method: string): Handler =>
  (prototype as Record<string, Handler>)[method];
const slashed = (path: string): string => (path === '' || path.startsWith('/') ? path : `/${path}`);
const listOf = (paths: unknown): string[] => [paths as string | string[]].flat().map(slashed);
