import type { IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';
import { ApiError } from '#platform/errors/errors';

/** uri-host [":" port], where an address of IPv6 is in brackets (RFC 3986, 3.2.2). No URI of http has an empty host. */
const HOST = /^(?:\[([^\]]*)\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})+)(?::\d*)?$/i;

/**
 * What is wrong with the Host header, which must be sent once (RFC 9112, 3.2), whatever the form of the request target.
 * A proxy may go by another Host than we do. Node keeps the first of several.
 */
export function hostProblem({ headers, rawHeaders, httpVersion }: IncomingMessage): ApiError | undefined {
  const { host } = headers;
  if (host === undefined) return httpVersion === '1.0' ? undefined : invalidHost('is required');
  if (countHosts(rawHeaders) > 1) return invalidHost('must be sent once');
  return isHost(host) ? undefined : invalidHost('must be a host, and a port if any');
}

/** Whether a text is a host, and a port if any. */
export function isHost(text: string): boolean {
  const parts = HOST.exec(text);
  return parts !== null && (parts[1] === undefined || isIPv6(parts[1]));
}

/** Names and values take turns. Every request comes here, so only names of that length are lower-cased. */
function countHosts(rawHeaders: string[]): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name.length === 4 && name.toLowerCase() === 'host') count++;
  }
  return count;
}

const invalidHost = (message: string): ApiError =>
  new ApiError(400, 'Validation failed', { code: 'bad_request', details: [{ field: 'host', message }] });
