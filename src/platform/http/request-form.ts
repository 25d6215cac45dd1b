import type { FastifyReply, FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';
import { ApiError, namedError } from '#platform/errors/errors';

type Done = (error?: Error) => void;

/** A hook of Fastify that refuses a request whose path or Host is invalid, whatever it asks for. */
export const checkTarget = ({ originalUrl, raw }: FastifyRequest, _reply: unknown, done: Done): void =>
  done(isDecodable(originalUrl) ? hostProblem(raw) : malformedPath());

const malformedPath = (): Error =>
  new ApiError(400, 'Validation failed', {
    code: 'malformed_path',
    details: [{ field: 'path', message: 'is not a valid percent-encoding' }],
  });

/** Whether the percent-encoding of a path is valid. */
export function isDecodable(url: string): boolean {
  if (!url.includes('%')) return true;
  try {
    decodeURIComponent(url.replace(/[?#].*$/s, ''));
    return true;
  } catch {
    return false;
  }
}

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

export const BODY_LIMIT_BYTES = 64 * 1024;

/**
 * Fastify's `preParsing` hook. A coding that nobody here can undo is refused; and a body of length 0 is no body, whatever
 * Content-Type says. Many clients send that header with every request, and a parser would refuse what they did not send.
 */
export function prepareBody({ raw }: FastifyRequest, _reply: FastifyReply, _: unknown, done: Done): void {
  const { method, headers } = raw;
  // Their bodies are not read.
  if (method === 'GET' || method === 'HEAD') return done();
  const { 'transfer-encoding': transfer, 'content-encoding': coding = 'identity' } = headers;
  if (transfer !== undefined && transfer.toLowerCase() !== 'chunked') return done(notChunked());
  if (coding.toLowerCase() !== 'identity') return done(namedError('unsupported_media_type'));
  if (transfer === undefined && Number(headers['content-length'] ?? 0) === 0) {
    delete headers['content-type'];
    delete headers['content-length'];
  }
  done();
}

const notChunked = (): ApiError =>
  new ApiError(501, 'Not implemented', {
    code: 'bad_request',
    details: [{ field: 'transfer-encoding', message: 'must be chunked' }],
  });
