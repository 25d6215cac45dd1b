import type { FastifyReply } from 'fastify';
import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

/** Characters. Compressing a shorter text costs more than it saves. */
const COMPRESS_FROM = 8 * 1024;

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
  const tag = tagOf(text);
  void reply.header('etag', tag);
  if (known !== undefined && isNamed(tag, known)) {
    void reply.code(304);
    // Fastify sends no body to HEAD, and without a body it would write the length 0.
    return method === 'HEAD' ? reply.send(text) : reply.removeHeader('content-type').send();
  }
  if (!isLarge || method === 'HEAD' || !acceptsGzip(headers['accept-encoding'])) return reply.send(text);
  // In a thread of Node's pool. Awaiting the reply waits until it is sent.
  gzip(text, (error, body) => {
    if (reply.sent) return;
    if (error) reply.send(text);
    else reply.header('content-encoding', 'gzip').send(body);
  });
  return reply;
}

/**
 * Weak, because the compressed text has the same tag. Not for security: SHA-1 was faster than MD5 here, and too long to
 * give two answers the same tag by chance.
 */
const tagOf = (body: string | Buffer): string => `W/"${hash('sha1', body, 'base64url')}"`;

/**
 * Whether If-None-Match names a weak tag, by weak comparison (RFC 9110, 8.8.3.2). Tags contain no quotes, so a quoted
 * text found in a list of tags is one of them.
 */
const isNamed = (tag: string, known: string): boolean => known.trim() === '*' || known.includes(tag.slice(2));

/** Whether the client takes gzip as readily as plain text. Without the header nothing is compressed. */
function acceptsGzip(accepted: string | string[] = ''): boolean {
  const weights = new Map(
    String(accepted)
      .toLowerCase()
      .split(',')
      .map((part) => {
        const [name, weight = 'q=1'] = part.split(';').map((each) => each.trim());
        return [name, Number(weight.replace('q=', ''))];
      }),
  );
  const gzip = weights.get('gzip') ?? weights.get('*') ?? 0;
  return gzip > 0 && gzip >= (weights.get('identity') ?? 0);
}

function vary(reply: FastifyReply): void {
  const others = reply.getHeader('vary');
  void reply.header('vary', others ? `${String(others)}, Accept-Encoding` : 'Accept-Encoding');
}

/**
 * What does not change while the process runs, such as a file. It is read, hashed and compressed once, when it is first
 * asked for, so that requests cost nothing but the sending.
 */
export class Asset {
  private made?: ReturnType<Asset['make']>;

  constructor(
    private readonly type: string,
    private readonly read: () => Buffer | Promise<Buffer>,
  ) {}

  async send(reply: FastifyReply): Promise<FastifyReply> {
    const { headers } = reply.request;
    // After an error the next request tries again.
    this.made ??= this.make().catch((error: Error) => ((this.made = undefined), Promise.reject(error)));
    const { body, tag, packed } = await this.made;
    if (packed) vary(reply);
    void reply.header('etag', tag);
    const known = headers['if-none-match'];
    if (known !== undefined && isNamed(tag, known)) return reply.code(304).send();
    const isPacked = packed && acceptsGzip(headers['accept-encoding']);
    if (isPacked) void reply.header('content-encoding', 'gzip');
    return reply.header('content-type', this.type).send(isPacked ? packed : body);
  }

  private async make(): Promise<{ body: Buffer; tag: string; packed?: Buffer }> {
    const body = await this.read();
    const tag = tagOf(body);
    if (this.type.startsWith('image/')) return { body, tag };
    return { body, tag, packed: await promisify(gzip)(body, { level: 9 }) };
  }
}
