import cors, { type FastifyCorsOptions } from '@fastify/cors';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { namedError } from '#platform/errors/errors';
import { hostProblem } from '#platform/http/request-form';
import type { RateLimiter } from '#platform/limits/rate-limiter';
import type { Environment } from '#settings/environment';

type Origins = (string | RegExp)[];
type Done = (error?: Error) => void;

const EXPOSED_HEADERS = [
  'ETag',
  'X-Request-Id',
  'Retry-After',
  'WWW-Authenticate',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
];

/** Pages served from the developer's own machine. */
const LOCAL = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/;

/** Origins whose pages may read answers: those listed, and in development also every origin of this machine. */
const allowedOrigins = ({ CORS_ORIGINS, NODE_ENV }: Environment): Origins =>
  NODE_ENV === 'development' ? [...CORS_ORIGINS, LOCAL] : CORS_ORIGINS;

const isListed = (origins: Origins, origin: string): boolean =>
  origins.some((each) => (typeof each === 'string' ? each === origin : each.test(origin)));

/**
 * Answers OPTIONS, and tells browsers which pages may read answers. The service sets no cookies, but some clients send
 * them with every request, and then a browser wants `Access-Control-Allow-Credentials`. It means nothing without
 * `Access-Control-Allow-Origin`, which only listed pages get; if every page may read answers, none may send cookies.
 */
export async function allowOrigins(app: NestFastifyApplication, environment: Environment): Promise<void> {
  const origins = allowedOrigins(environment);
  if (origins.length === 0) return;
  const isOpen = origins.includes('*');
  const options: FastifyCorsOptions = {
    origin: isOpen ? true : origins,
    credentials: !isOpen,
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    exposedHeaders: EXPOSED_HEADERS,
    maxAge: 600,
    // Answer other OPTIONS requests as preflights; the plugin would send an error body of its own.
    strictPreflight: false,
  };
  const fastify = app.getHttpAdapter().getInstance();
  // Checked here because no later hook sees a preflight.
  fastify.addHook('onRequest', ({ method, raw }: FastifyRequest, _reply: FastifyReply, done: Done) =>
    done(method === 'OPTIONS' ? hostProblem(raw) : undefined),
  );
  await app.register(cors, options);
}

/**
 * Refuses requests that a foreign web page makes a browser send: images, forms, frames, and fetches that CORS blocks.
 * The page never sees the answers, but the requests would use up the visitor's rate limits. Refusing them before the
 * rate limit costs less than counting them.
 *
 * Browsers name the origin of a request in headers that pages cannot set (Fetch Metadata, and Origin). Other clients
 * send none of them.
 */
export function refuseForeignPages(environment: Environment, limits: RateLimiter) {
  const origins = allowedOrigins(environment);
  const { SIWE_DOMAINS } = environment;
  /** Sites that may sign in are ours too, because a proxy may add the CORS headers instead of the service. */
  const isKnown = ({ headers }: FastifyRequest, origin: string | undefined): boolean => {
    if (origins.includes('*')) return true;
    if (origin === undefined) return false;
    const host = origin.replace(/^https?:\/\//, '');
    return isListed(origins, origin) || SIWE_DOMAINS.includes(host) || host === headers.host;
  };
  const isForeign = (request: FastifyRequest): boolean => {
    const {
      'sec-fetch-site': site,
      'sec-fetch-mode': mode,
      'sec-fetch-dest': dest,
      origin,
    } = request.headers;
    // Not from a page, or from one of our own pages, or the user typed the address.
    if (site === undefined && origin === undefined) return false;
    if (site === 'same-origin' || site === 'none') return false;
    const counted = limits.of(request);
    if (counted.length === 0) return false;
    // Browsers from before 2023 send no Fetch Metadata. Without SIWE_DOMAINS we do not know which origins are ours.
    if (site === undefined) return SIWE_DOMAINS.length > 0 && !isKnown(request, origin);
    if (mode === 'cors') return !isKnown(request, origin);
    // A link that the user follows leaves the page, so a page cannot send many of them. Sign-in has no such links.
    const isLink = mode === 'navigate' && dest === 'document' && request.method === 'GET';
    return !isLink || counted.some(({ name }) => name === 'auth');
  };
  return (request: FastifyRequest, _reply: FastifyReply, done: Done): void =>
    done(isForeign(request) ? namedError('cross_site_request') : undefined);
}
