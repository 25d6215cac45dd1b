import type { FastifyReply, FastifyRequest } from 'fastify';
import type { IncomingMessage, Server } from 'node:http';
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

/** Any of them tells whether there is a body, or that there never will be one. */
const EVENTS = ['readable', 'end', 'error', 'close'];

/**
 * Fastify's `preParsing` hook. A coding that nobody here can undo is refused; a client that waits for leave to send its
 * body gets it now, after all else that could refuse the request; and a body of length 0 is no body, whatever
 * Content-Type says. Many clients send that header with every request, and a parser would refuse what they did not send.
 */
export function prepareBody({ raw }: FastifyRequest, reply: FastifyReply, _: unknown, done: Done): void {
  const { method, headers } = raw;
  // Their bodies are not read.
  if (method === 'GET' || method === 'HEAD') return done();
  const { 'transfer-encoding': transfer, 'content-encoding': coding = 'identity', expect } = headers;
  const length = Number(headers['content-length'] ?? 0);
  if (transfer !== undefined && transfer.toLowerCase() !== 'chunked') return done(notChunked());
  if (coding.toLowerCase() !== 'identity') return done(namedError('unsupported_media_type'));
  if (length > BODY_LIMIT_BYTES) return done();
  if (expect?.toLowerCase() === '100-continue') reply.raw.writeContinue();
  if (transfer !== undefined) return onceBegun(raw, done);
  if (length === 0) forgetBody(raw);
  done();
}

const notChunked = (): ApiError =>
  new ApiError(501, 'Not implemented', {
    code: 'bad_request',
    details: [{ field: 'transfer-encoding', message: 'must be chunked' }],
  });

/** Of a chunked body only its first bytes tell whether there is one. They stay for the parser. */
function onceBegun(raw: IncomingMessage, done: Done): void {
  const decide = (): void => {
    for (const event of EVENTS) raw.off(event, decide);
    if (raw.complete && raw.readableLength === 0) forgetBody(raw);
    const left = raw.destroyed && !raw.complete ? new Error('request ended by its client') : undefined;
    // A stream can flow to the parser only from the turn on that follows its last `readable` listener.
    setImmediate(() => done(left));
  };
  for (const event of EVENTS) raw.on(event, decide);
}

function forgetBody({ headers }: IncomingMessage): void {
  delete headers['content-type'];
  delete headers['content-length'];
  delete headers['transfer-encoding'];
}

/** Requests with `Expect` take the way of all others, through limits, log and metrics. Node would answer them itself. */
export function takeExpectations(server: Server): void {
  for (const event of ['checkContinue', 'checkExpectation'])
    server.on(event, (request, response) => server.emit('request', request, response));
}
