import type { Environment } from '../config/environment';

/** Pages served from the developer's own machine. */
const LOCAL = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/;

/** Origins whose pages may read answers: CORS_ORIGINS, and in development also every origin of this machine. */
export function allowedOrigins({
  CORS_ORIGINS,
  NODE_ENV,
}: Pick<Environment, 'CORS_ORIGINS' | 'NODE_ENV'>): (string | RegExp)[] {
  return NODE_ENV === 'development' ? [...CORS_ORIGINS, LOCAL] : CORS_ORIGINS;
}
