import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { namedError } from '#platform/errors/errors';
import { HttpSettings } from '#platform/http/http.settings';
import { allowedOrigins } from '#platform/http/origins';
import { RouteLimits } from '#platform/limits/route-limits';
import { AuthSettings } from '#features/auth/auth.settings';

/**
 * Refuses requests that a foreign web page makes a browser send: images, forms, frames, and fetches that CORS blocks.
 * The page never sees the answers, but the requests would use up the visitor's rate limits. Refusing them before the
 * rate limit costs less than counting them.
 *
 * Browsers name the origin of a request in headers that pages cannot set (Fetch Metadata, and Origin). Other clients
 * send none of them.
 */
@Injectable()
export class CrossSiteGuard {
  private readonly origins: Set<string>;
  private readonly patterns: RegExp[];
  private readonly hosts: Set<string>;

  constructor(
    { CORS_ORIGINS, NODE_ENV }: HttpSettings,
    { SIWE_DOMAINS }: AuthSettings,
    private readonly limits: RouteLimits,
  ) {
    const allowed = allowedOrigins(CORS_ORIGINS, NODE_ENV === 'development');
    this.origins = new Set(allowed.filter((origin) => typeof origin === 'string'));
    this.patterns = allowed.filter((origin) => typeof origin !== 'string');
    this.hosts = new Set(SIWE_DOMAINS);
  }

  readonly onRequest = (request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void =>
    done(this.isForeign(request) ? namedError('cross_site_request') : undefined);

  private isForeign(request: FastifyRequest): boolean {
    const {
      'sec-fetch-site': site,
      'sec-fetch-mode': mode,
      'sec-fetch-dest': dest,
      origin,
    } = request.headers;
    // Not from a page, or from one of our own pages, or the user typed the address.
    if (site === undefined && origin === undefined) return false;
    if (site === 'same-origin' || site === 'none') return false;
    const limits = this.limits.of(request);
    if (limits.length === 0) return false;
    // Browsers from before 2023 send no Fetch Metadata. Without SIWE_DOMAINS we do not know which origins are ours.
    if (site === undefined) return this.hosts.size > 0 && !this.isKnown(request, origin);
    if (mode === 'cors') return !this.isKnown(request, origin);
    // A link that the user follows leaves the page, so a page cannot send many of them. Sign-in has no such links.
    const isLink = mode === 'navigate' && dest === 'document' && request.method === 'GET';
    return !isLink || limits.some(({ name }) => name === 'auth');
  }

  /** Sites that may sign in are ours too, because a proxy may add the CORS headers instead of the service. */
  private isKnown({ headers }: FastifyRequest, origin: string | undefined): boolean {
    if (this.origins.has('*')) return true;
    if (origin === undefined) return false;
    const host = origin.replace(/^https?:\/\//, '');
    if (this.patterns.some((pattern) => pattern.test(origin))) return true;
    return this.origins.has(origin) || this.hosts.has(host) || host === headers.host;
  }
}
