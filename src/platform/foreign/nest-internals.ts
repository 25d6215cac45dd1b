import type { ArgumentsHost, ExceptionFilter, HttpServer } from '@nestjs/common';
import { BaseExceptionFilter, type HttpAdapterHost } from '@nestjs/core';

/**
 * Every part of NestJS that its packages do not export for users, or do not mean to be replaced, with the reason why we
 * need it. Others import these from here; throttling, query-parameters and error-filters fail if one of them changes.
 */

/**
 * Where decorators store what they say. The packages offer no other way to read it before a request comes: what makes a
 * method a handler, for route-targets.ts; interceptors, for PlainData; the sources of parameters, for
 * QueryParametersGuard; the status, for `@ApiData`.
 */
export {
  HTTP_CODE_METADATA,
  INTERCEPTORS_METADATA,
  PATH_METADATA,
  ROUTE_ARGS_METADATA,
} from '@nestjs/common/constants';
/** The `config` that NestJS gives Fastify with a route. `@RouteConfig()` writes it, and nothing public reads it. */
export { FASTIFY_ROUTE_CONFIG_METADATA } from '@nestjs/platform-fastify/constants';
/** What the keys of ROUTE_ARGS_METADATA begin with: `${RouteParamtypes.QUERY}:0` for `@Query()`. */
export { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum';
/** The text of the exception when a guard refuses: only by it can the error say the documented text instead. */
export { FORBIDDEN_MESSAGE } from '@nestjs/core/guards/constants';
/** What guards get. The rate limits ask whether a caller is spared before NestJS has made one. */
export { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host';

/** What a filter of a module knows of its application: one of the two, depending on who made it. */
interface BaseFilter {
  applicationRef?: HttpServer;
  httpAdapterHost?: HttpAdapterHost;
}

/**
 * Replaces the `catch` of BaseExceptionFilter, which filters of modules call by `super.catch`. It makes a body of its
 * own and replies by the adapter, as filters do that answer as they like. So the adapter cannot tell them apart, and
 * sees no exception: only the method itself can be replaced.
 * @param filterOf the filter that catches in its place, for the adapter of an application; without one NestJS answers
 */
export function replaceBaseCatch(filterOf: (adapter: unknown) => ExceptionFilter | undefined): void {
  const { prototype } = BaseExceptionFilter;
  // eslint-disable-next-line @typescript-eslint/unbound-method
  const ordinary = prototype.catch;
  prototype.catch = function (this: BaseExceptionFilter, exception: unknown, host: ArgumentsHost): void {
    const { applicationRef, httpAdapterHost } = this as unknown as BaseFilter;
    const filter = filterOf(applicationRef ?? httpAdapterHost?.httpAdapter);
    if (filter) filter.catch(exception, host);
    else ordinary.call(this, exception, host);
  };
}
