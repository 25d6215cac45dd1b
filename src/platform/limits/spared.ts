import { type CustomDecorator, type ExecutionContext, SetMetadata, type Type } from '@nestjs/common';
import type { RouteTarget } from '#platform/http/route-targets';

/** Knows callers who may pass although a limit is exceeded. */
export interface Sparing {
  /**
   * A name of the caller that nobody can make up, or undefined. Is asked for every request beyond the limits, so it
   * must be cheap: no query.
   */
  nameOf(context: ExecutionContext): Promise<string | undefined>;
  /** Whether the caller of that name may pass. Is asked a few times in a window for each name. */
  mayPass(context: ExecutionContext): Promise<boolean>;
}

const SPARED_BY = 'limits:spared-by';

/**
 * What the handler does must not wait for the end of a window. Its requests count like all others, but beyond a limit
 * the callers whom the provider names pass, each a few times in a window.
 */
export const SparedBy = (provider: Type<Sparing>): CustomDecorator => SetMetadata(SPARED_BY, provider);

export const whoSpares = ({ handler }: RouteTarget): Type<Sparing> | undefined =>
  Reflect.getMetadata(SPARED_BY, handler) as Type<Sparing> | undefined;
