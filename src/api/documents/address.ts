import type { FastifyRequest } from 'fastify';
import { isHost } from '#platform/http/host';

/** The document with no address of its own: beside the page, which knows its prefix better. */
export const BESIDE = '..';

/**
 * The address under which a request reached the service, with the prefix that it may have. Behind a proxy of TRUST_PROXY
 * it is the proxy's, by X-Forwarded-Host and X-Forwarded-Proto.
 */
export function addressOf({ protocol, host, originalUrl }: FastifyRequest): string {
  // HTTP/1.0 may leave it out, and nobody has checked what a proxy says.
  if (!host || !isHost(host) || !/^https?$/.test(protocol)) return BESIDE;
  return `${protocol}://${host}${/^\/api(\/|$)/.test(originalUrl) ? '/api' : ''}`;
}
