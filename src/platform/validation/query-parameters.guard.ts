import {
  type CanActivate,
  type CustomDecorator,
  type ExecutionContext,
  Injectable,
  Module,
  SetMetadata,
  type Type,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { DECORATORS } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { validationFailed } from '#platform/errors/errors';
import { defaultMetadataStorage, rulesOf } from '#platform/foreign/class-validator-internals';
import { ROUTE_ARGS_METADATA, RouteParamtypes } from '#platform/foreign/nest-internals';
import type { RouteTarget } from '#platform/http/route-targets';

/** The parameter that clients add to bypass caches. */
const AGAINST_CACHES = '_';

const ANY_QUERY = 'query-parameters:any';

/** The handlers of a controller ignore query parameters that they do not know: monitors add their own. */
export const AnyQuery = (): CustomDecorator => SetMetadata(ANY_QUERY, true);

/**
 * Refuses query parameters that an endpoint does not know, because a misspelt filter would return everything. An
 * endpoint knows the fields of its query classes that have rules or documentation, and the names in `@Query('name')`
 * and `@ApiQuery()`. An endpoint that takes the whole query as a plain object accepts everything, as do those of a
 * controller with `@AnyQuery()`.
 *
 * An empty value of a read is an absent one, for endpoints that do not accept everything. For a DELETE it is an error:
 * it would widen what is deleted.
 *
 * It is a guard so that it runs after authentication. What each handler knows is read once.
 */
@Injectable()
export class QueryParametersGuard implements CanActivate {
  /** By handler. Undefined for handlers that accept everything. */
  private readonly known = new Map<unknown, Set<string> | undefined>();

  canActivate(context: ExecutionContext): boolean {
    if (context.getType() !== 'http') return true;
    const handler = context.getHandler();
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    if (!this.known.has(handler)) {
      const { target } = request.routeOptions.config;
      this.known.set(handler, target && namesOf(target));
    }
    const known = this.known.get(handler);
    if (!known) return true;
    const query = request.query as Record<string, unknown>;
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    for (const name in query)
      if (!known.has(name)) throw unknown(Object.keys(query), known);
      // What a form sends for a field that was left empty.
      else if (isRead && query[name] === '') delete query[name];
    return true;
  }
}

@Module({ providers: [{ provide: APP_GUARD, useClass: QueryParametersGuard }] })
export class QueryParametersModule {}

const unknown = (names: string[], known: Set<string>): Error =>
  validationFailed(
    ...names.filter((name) => !known.has(name)).map((field) => ({ field, message: 'unknown parameter' })),
  );

/** Undefined for a handler that accepts everything. */
function namesOf({ controller, handler, method }: RouteTarget): Set<string> | undefined {
  if (Reflect.getMetadata(ANY_QUERY, controller)) return undefined;
  const names = new Set([AGAINST_CACHES]);
  const types = Reflect.getMetadata('design:paramtypes', controller.prototype as object, method) as
    unknown[] | undefined;
  const parameters = Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, method) as
    Record<string, { index: number; data?: unknown }> | undefined;
  for (const [key, { index, data }] of Object.entries(parameters ?? {})) {
    if (!key.startsWith(`${RouteParamtypes.QUERY}:`)) continue;
    const added = typeof data === 'string' ? [data] : fieldsOf(types?.[index]);
    if (!added) return undefined;
    for (const name of added) names.add(name);
  }
  // `@ApiQuery()` of a controller stores it at each of its handlers too.
  for (const { in: place, name } of documented(handler)) if (place === 'query' && name) names.add(name);
  return names;
}

const documented = (target: object): { in?: string; name?: string }[] =>
  (Reflect.getMetadata(DECORATORS.API_PARAMETERS, target) ?? []) as { in?: string; name?: string }[];

/** Fields of a class with rules or documentation, by the names that clients use. Undefined without any. */
function fieldsOf(type: unknown): string[] | undefined {
  if (typeof type !== 'function') return undefined;
  const rules = rulesOf(type as Type);
  const described = (Reflect.getMetadata(
    DECORATORS.API_MODEL_PROPERTIES_ARRAY,
    (type as Type).prototype as object,
  ) ?? []) as string[];
  const renamed = defaultMetadataStorage.getExposedMetadatas(type);
  const fields = [
    ...rules.map(({ propertyName }) => propertyName),
    // Swagger puts a colon before each name.
    ...described.map((name) => name.replace(/^:/, '')),
    ...renamed.map(({ propertyName, options }) => options.name ?? propertyName ?? ''),
  ];
  return fields.length > 0 ? fields : undefined;
}
