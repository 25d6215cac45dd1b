import type { FastifyCorsOptions } from '@fastify/cors';
import type { FastifyRequest } from 'fastify';
import { isListedOrigin } from '#platform/http/origins';

const EXPOSED_HEADERS = [
  'ETag',
  'X-Request-Id',
  'Retry-After',
  'WWW-Authenticate',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
];

type Rules = (request: FastifyRequest, use: (error: null, options: FastifyCorsOptions) => void) => void;

/**
 * What the plugin tells browsers. The service sets no cookies, but some clients send them with every request, and then
 * a browser wants `Access-Control-Allow-Credentials`. Only listed pages get it, none where any page may ask.
 */
export function crossOriginRules(origins: (string | RegExp)[]): Rules {
  const isOpen = origins.includes('*');
  const options: FastifyCorsOptions = {
    origin: isOpen ? true : origins,
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    exposedHeaders: EXPOSED_HEADERS,
    maxAge: 600,
    // Answer other OPTIONS requests as preflights; the plugin would send an error body of its own.
    strictPreflight: false,
  };
  const withCredentials = { ...options, credentials: true };
  return ({ headers: { origin } }, use) =>
    use(null, !isOpen && isListedOrigin(origins, origin) ? withCredentials : options);
}
