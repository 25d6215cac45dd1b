import type { INestApplication, Type } from '@nestjs/common';
import { MetadataScanner, ModulesContainer } from '@nestjs/core';
import { RouteConfig } from '@nestjs/platform-fastify';
import { FASTIFY_ROUTE_CONFIG_METADATA, PATH_METADATA } from '#platform/foreign/nest-internals';

type Handler = (...args: unknown[]) => unknown;

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

/** The handlers of all controllers of an application. */
export function handlersOf(app: INestApplication): RouteTarget[] {
  const scanner = new MetadataScanner();
  const modules = [...app.get(ModulesContainer).values()];
  return modules
    .flatMap(({ controllers }) => [...controllers.values()])
    .flatMap(({ metatype }) => {
      const controller = metatype as Type;
      const prototype = controller.prototype as Record<string, Handler>;
      return scanner
        .getAllMethodNames(prototype)
        .map((method) => ({ controller, handler: prototype[method], method }))
        .filter(({ handler }) => Reflect.hasMetadata(PATH_METADATA, handler));
    });
}

/**
 * Gives each route of NestJS its handler and controller as `config.target`. So what decorators say about a route can be
 * read once at startup, and hooks that run before NestJS can use it.
 *
 * NestJS hands Fastify only what is stored at the handler, and a handler that several controllers inherit is one
 * function. So each of these controllers gets a function of its own.
 */
export function nameTargets(app: INestApplication): void {
  for (const { controller, handler: found, method } of handlersOf(app)) {
    const prototype = controller.prototype as object;
    const handler = Object.hasOwn(prototype, method) ? found : addOwn(prototype, method, found);
    const config = Reflect.getMetadata(FASTIFY_ROUTE_CONFIG_METADATA, handler) as object | undefined;
    const target: RouteTarget = { controller, handler, method };
    RouteConfig({ ...config, target })(prototype, method, { value: handler });
  }
}

function addOwn(prototype: object, method: string, inherited: Handler): Handler {
  const { [method]: own } = {
    [method](this: unknown, ...args: unknown[]): unknown {
      return inherited.apply(this, args);
    },
  };
  for (const key of Reflect.getMetadataKeys(inherited) as string[])
    Reflect.defineMetadata(key, Reflect.getMetadata(key, inherited), own);
  Object.defineProperty(prototype, method, { value: own, writable: true, configurable: true });
  return own;
}
