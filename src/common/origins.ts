import type { Environment } from '../config/environment';

/** Pages that a developer serves from his own machine. */
const LOCAL = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/;

/** Origins whose pages may read answers: those of CORS_ORIGINS, in development also every one of this machine. */
export function allowedOrigins({
  CORS_ORIGINS,
  NODE_ENV,
}: Pick<Environment, 'CORS_ORIGINS' | 'NODE_ENV'>): (string | RegExp)[] {
  return NODE_ENV === 'development' ? [...CORS_ORIGINS, LOCAL] : CORS_ORIGINS;
}
