import type { FastifyReply } from 'fastify';
import { hash } from 'node:crypto';
import { brotliCompress, constants, gzip } from 'node:zlib';

/** Characters. Compressing a shorter text costs more than it saves. */
const COMPRESS_FROM = 8 * 1024;

export type Encoding = 'gzip' | 'br';

type Done = (error: Error | null, body: Buffer) => void;

/** Moderate levels: answers are compressed for each request, so time counts more than the last percent of size. */
const COMPRESSORS: Record<Encoding, (text: string, done: Done) => void> = {
  gzip: (text, done) => gzip(text, { level: 6 }, done),
  br: (text, done) => brotliCompress(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }, done),
};

/**
 * Sends the text of a successful answer. GETs get an ETag, and a 304 when the client already has that text. Large
 * answers are compressed outside the event loop when the client accepts it.
 *
 * Not for answers that contain a token or a nonce.
 */
export function sendText(reply: FastifyReply, text: string): FastifyReply {
  const { method, headers } = reply.request;
  if (reply.statusCode !== 200 || (method !== 'GET' && method !== 'HEAD')) return reply.send(text);
  const isLarge = text.length >= COMPRESS_FROM;
  if (isLarge) vary(reply);
  const known = headers['if-none-match'];
  const tag = entityTag(reply, text);
  if (known !== undefined && isNamed(tag, known)) {
    void reply.code(304);
    // Fastify sends no body to HEAD, and without a body it would write the length 0.
    return method === 'HEAD' ? reply.send(text) : reply.removeHeader('content-type').send();
  }
  if (!isLarge || method === 'HEAD') return reply.send(text);
  const encoding = encodingOf(headers['accept-encoding']);
  return encoding ? sendCompressed(reply, text, encoding) : reply.send(text);
}

/** Weak, because the compressed text has the same tag. A handler may have set its own. */
function entityTag(reply: FastifyReply, text: string): string {
  const given = reply.getHeader('etag');
  // Not for security. SHA-1 was faster than MD5 here, and too long to give two answers the same tag by chance.
  const tag = given === undefined ? `W/"${hash('sha1', text, 'base64url')}"` : weak(String(given));
  void reply.header('etag', tag);
  return tag;
}

const weak = (tag: string): string => (tag.startsWith('"') ? `W/${tag}` : tag);

/**
 * Whether If-None-Match names a weak tag, by weak comparison (RFC 9110, 8.8.3.2). Tags contain no quotes, so a quoted
 * text found in a list of tags is one of them.
 */
export const isNamed = (tag: string, known: string): boolean =>
  known.trim() === '*' || known.includes(tag.slice(2));

/** gzip on equal weights, because it takes less time than br. Without the header nothing is compressed. */
export function encodingOf(accepted: string | string[] = ''): Encoding | undefined {
  const weights = new Map<string, number>();
  for (const part of String(accepted).toLowerCase().split(',')) {
    const [name, ...parameters] = part.split(';').map((each) => each.trim());
    const weight = parameters.find((each) => each.startsWith('q='));
    weights.set(name, weight ? Number(weight.slice(2)) : 1);
  }
  const weightOf = (name: string): number => weights.get(name) ?? weights.get('*') ?? 0;
  const best = weightOf('gzip') >= weightOf('br') ? 'gzip' : 'br';
  return weightOf(best) > 0 && weightOf(best) >= (weights.get('identity') ?? 0) ? best : undefined;
}

/** Compresses in a thread of Node's pool. Awaiting the reply waits until it is sent. */
function sendCompressed(reply: FastifyReply, text: string, encoding: Encoding): FastifyReply {
  COMPRESSORS[encoding](text, (error, body) => {
    if (reply.sent) return;
    if (error) reply.send(text);
    else reply.header('content-encoding', encoding).send(body);
  });
  return reply;
}

export function vary(reply: FastifyReply): void {
  const others = reply.getHeader('vary');
  void reply.header('vary', others ? `${String(others)}, Accept-Encoding` : 'Accept-Encoding');
}
