import { type CanActivate, type ExecutionContext, Injectable, Module, type Type } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum';
import { defaultMetadataStorage } from 'class-transformer/cjs/storage';
import { getMetadataStorage } from 'class-validator';
import type { FastifyRequest, RouteOptions } from 'fastify';
import { validationFailed } from './errors';
import type { RouteTarget } from './route-targets';

/** Where the decorators of @nestjs/swagger leave what they say; the package does not export its names for it. */
const DOCUMENTED_PARAMETERS = 'swagger/apiParameters';
const DOCUMENTED_FIELDS = 'swagger/apiModelPropertiesArray';

/** What clients add so that no cache answers. */
const AGAINST_CACHES = '_';

/**
 * Refuses query parameters that an endpoint does not know: a misspelt filter would return everything. It knows what
 * its query classes have rules or documentation for, what `@Query('name')` names, and what `@ApiQuery()` documents. An
 * endpoint that takes the whole query as plain object takes everything.
 *
 * A guard, so that it comes behind authentication. What each handler knows is read once at start.
 */
@Injectable()
export class QueryParametersGuard implements CanActivate {
  /** By handler; none for those that take everything. */
  private readonly known = new Map<unknown, Set<string>>();

  /** The hook of Fastify that reads what the handler of a route knows. */
  readonly onRoute = ({ config }: RouteOptions): void => {
    const target = config?.target;
    const names = target && namesOf(target);
    if (names) this.known.set(target.handler, names);
  };

  canActivate(context: ExecutionContext): boolean {
    const known = this.known.get(context.getHandler());
    if (!known) return true;
    const query = context.switchToHttp().getRequest<FastifyRequest>().query as Record<string, unknown>;
    for (const name in query) if (!known.has(name)) throw unknown(Object.keys(query), known);
    return true;
  }
}

@Module({
  providers: [QueryParametersGuard, { provide: APP_GUARD, useExisting: QueryParametersGuard }],
  exports: [QueryParametersGuard],
})
export class QueryParametersModule {}

const unknown = (names: string[], known: Set<string>): Error =>
  validationFailed(
    ...names.filter((name) => !known.has(name)).map((field) => ({ field, message: 'unknown parameter' })),
  );

/** Undefined for a handler that takes everything. */
function namesOf({ controller, handler, method }: RouteTarget): Set<string> | undefined {
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
  for (const target of [handler, controller])
    for (const { in: place, name } of documented(target)) if (place === 'query' && name) names.add(name);
  return names;
}

const documented = (target: object): { in?: string; name?: string }[] =>
  (Reflect.getMetadata(DOCUMENTED_PARAMETERS, target) ?? []) as { in?: string; name?: string }[];

/** Fields of a class that say anything about themselves, by the names that clients use. Undefined when none does. */
function fieldsOf(type: unknown): string[] | undefined {
  if (typeof type !== 'function') return undefined;
  const rules = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  const described = (Reflect.getMetadata(DOCUMENTED_FIELDS, (type as Type).prototype as object) ??
    []) as string[];
  const renamed = defaultMetadataStorage.getExposedMetadatas(type);
  const fields = [
    ...rules.map(({ propertyName }) => propertyName),
    // Swagger writes a colon in front of each.
    ...described.map((name) => name.replace(/^:/, '')),
    ...renamed.map(({ propertyName, options }) => options.name ?? propertyName ?? ''),
  ];
  return fields.length > 0 ? fields : undefined;
}
