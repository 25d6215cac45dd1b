import type { FastifyReply } from 'fastify';
import { hash } from 'node:crypto';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { promisify } from 'node:util';
import { type Encoding, encodingOf, isNamed, vary } from './send-text';

/** More than for answers, as it is done once; the highest of brotli would take 8 s for the documentation's library. */
const COMPRESSORS: Record<Encoding, (body: Buffer) => Promise<Buffer>> = {
  gzip: (body) => promisify(gzip)(body, { level: 9 }),
  br: (body) => promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
};

/** A promise, kept unless it is rejected: then the next call tries again. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make().catch((error: Error) => ((made = undefined), Promise.reject(error))));
}

/**
 * What does not change while the process runs, such as a file. It is read, hashed and compressed once, when it is first
 * asked for, so that requests cost nothing but the sending.
 */
export class Asset {
  private readonly plain: () => Promise<{ body: Buffer; tag: string }>;
  private readonly packed: Record<Encoding, () => Promise<Buffer>>;

  constructor(
    private readonly type: string,
    read: () => Buffer | Promise<Buffer>,
  ) {
    this.plain = once(async () => {
      const body = await read();
      return { body, tag: `W/"${hash('sha1', body, 'base64url')}"` };
    });
    const pack = (encoding: Encoding): (() => Promise<Buffer>) =>
      once(async () => COMPRESSORS[encoding]((await this.plain()).body));
    this.packed = { gzip: pack('gzip'), br: pack('br') };
  }

  async send(reply: FastifyReply): Promise<FastifyReply> {
    const { headers } = reply.request;
    const isText = !this.type.startsWith('image/');
    const { body, tag } = await this.plain();
    if (isText) vary(reply);
    void reply.header('etag', tag);
    const known = headers['if-none-match'];
    if (known !== undefined && isNamed(tag, known)) return reply.code(304).send();
    const encoding = isText ? encodingOf(headers['accept-encoding']) : undefined;
    if (encoding) void reply.header('content-encoding', encoding);
    return reply.header('content-type', this.type).send(encoding ? await this.packed[encoding]() : body);
  }
}
