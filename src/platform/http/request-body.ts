import type { FastifyReply, FastifyRequest } from 'fastify';
import type { IncomingMessage, Server } from 'node:http';
import { ApiError, namedError } from '#platform/errors/errors';

export const BODY_LIMIT_BYTES = 64 * 1024;

type Done = (error?: Error | null) => void;

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
    const left = raw.destroyed && !raw.complete ? new Error('request ended by its client') : null;
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
