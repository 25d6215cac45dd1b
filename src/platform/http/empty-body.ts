import type { FastifyReply, FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';

type Done = (error?: Error | null) => void;

/** Any of them tells whether there is a body, or that there never will be one. */
const EVENTS = ['readable', 'end', 'error', 'close'];

/**
 * Fastify's `preParsing` hook: a body of length 0 is no body, whatever Content-Type says. Many clients send that header
 * with every request, and a parser would refuse what they did not send.
 */
export function forgetEmptyBody({ raw }: FastifyRequest, _reply: FastifyReply, _: unknown, done: Done): void {
  const { method, headers } = raw;
  // Their bodies are not read.
  if (method === 'GET' || method === 'HEAD') return done();
  if (headers['transfer-encoding'] !== undefined) return onceBegun(raw, done);
  if (Number(headers['content-length'] ?? 0) === 0) forgetBody(raw);
  done();
}

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
