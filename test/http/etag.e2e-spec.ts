import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import multipart from '@fastify/multipart';
import { WsAdapter } from '@nestjs/platform-ws';
import { Controller, Get, Header, HttpCode, Module, Post, Query } from '@nestjs/common';
import { gunzipSync } from 'node:zlib';
import { TopLevelCopy } from '#platform/answers/pagination';
import { Public } from '#features/access/auth.guard';
import { type SignedIn, useApp } from '../support/app';
import { ExampleModule } from '../support/example/example.module';

const TEXT = 'savings '.repeat(2000);

@Controller('texts')
@Public()
class TextsController {
  @Get()
  read(@Query('characters') characters: string): string {
    return TEXT.slice(0, Number(characters));
  }

  @Get('varying')
  @Header('vary', 'Origin')
  varying(): string {
    return TEXT;
  }

  @Post('written')
  @HttpCode(200)
  written(): string {
    return TEXT;
  }

  @Get('top-level-copy')
  topLevelCopy(): TopLevelCopy<{ text: string }> {
    return new TopLevelCopy({ text: TEXT });
  }
}

@Module({ controllers: [TextsController] })
class TextsModule {}

const app = useApp(
  { CORS_ORIGINS: 'https://dapp.example' },
  {
    modules: [ExampleModule, TextsModule],
    prepare: async (nest: NestFastifyApplication) => {
      await nest.register(multipart);
      nest.useWebSocketAdapter(new WsAdapter(nest));
    },
  },
);
let user: SignedIn;
beforeAll(async () => {
  user = await app.signIn();
});

const get = (url: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' | 'POST' = 'GET') =>
  app.nest.inject({ method, url, headers });
const withTag = async (url: string, tag: string): Promise<number> =>
  (await get(url, { 'if-none-match': tag })).statusCode;

describe('ETag', () => {
  const URL = '/texts?characters=10';
  let tag: string;
  beforeAll(async () => {
    tag = String((await get(URL)).headers.etag);
  });

  it('is weak, and the same as long as the answer is', async () => {
    expect(tag).toMatch(/^W\/"[\w-]{27}"$/);
    expect((await get(URL)).headers.etag).toBe(tag);
    expect((await get('/texts?characters=11')).headers.etag).not.toBe(tag);
    expect((await get(URL, {}, 'HEAD')).headers.etag).toBe(tag);
  });

  it.each([
    ['it', (own: string) => own],
    ['it, as a strong one', (own: string) => own.slice(2)],
    ['a list with it', (own: string) => `"a", W/"b,c" , ${own},"d"`],
    ['any', () => ' * '],
  ])('304 to If-None-Match with %s', async (_, known) => {
    const asked = { 'if-none-match': known(tag) };
    const { statusCode, headers, payload } = await get(URL, asked);
    expect([statusCode, payload, headers.etag]).toEqual([304, '', tag]);
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-request-id': expect.any(String) });
    expect(headers).not.toHaveProperty('content-type');
    expect(headers).not.toHaveProperty('content-length');
    const head = await get(URL, asked, 'HEAD');
    expect([head.statusCode, head.payload, head.headers.etag]).toEqual([304, '', tag]);
    expect(head.headers['content-length']).toBe((await get(URL)).headers['content-length']);
  });

  it.each([
    ['another', () => 'W/"another"'],
    ['nothing', () => ''],
    ['a part of it', (own: string) => `${own.slice(0, -2)}"`],
    ['it without quotes', (own: string) => own.slice(3, -1)],
    ['it as the end of another', (own: string) => `"a${own.slice(3)}`],
    ['any in a list', () => '"a", *'],
  ])('200 to If-None-Match with %s', async (_, known) => {
    expect(await withTag(URL, known(tag))).toBe(200);
  });

  it('changes with what was read, for each caller', async () => {
    const read = (as: SignedIn, known = '') => app.get('/pools', as, known ? { 'if-none-match': known } : {});
    const before = String((await read(user)).headers.etag);
    expect((await read(user, before)).status).toBe(304);
    await app.createPool(user);
    const { status, body, headers } = await read(user, before);
    expect([status, body.data.length]).toEqual([200, 1]);
    expect((await read(await app.signIn(), String(headers.etag))).status).toBe(200);
    expect((await app.get('/pools', undefined, { 'if-none-match': '*' })).status).toBe(401);
  });

  it('lets caches keep what is public', async () => {
    const { headers } = await get('/config/abi');
    const { statusCode, headers: unchanged } = await get('/config/abi', {
      'if-none-match': String(headers.etag),
    });
    expect([statusCode, unchanged['cache-control']]).toEqual([304, 'public, max-age=3600']);
  });

  it('is shown to pages of other origins', async () => {
    const { headers } = await get(URL, { origin: 'https://dapp.example' });
    expect(headers['access-control-expose-headers']).toContain('ETag');
  });

  it.each(
    `/auth/nonce /texts/top-level-copy /health /health/live /metrics /pools /nope
    /example/answers/file /example/answers/stream /example/answers/buffer /example/answers/csv /example/answers/raw
    /example/answers/passthrough /example/answers/failed /example/answers/moved`.split(/\s+/),
  )('is only on successful enveloped reads; other answers are never 304: %s', async (url) => {
    const { statusCode, headers } = await get(url, { 'if-none-match': '*' });
    expect([statusCode === 304, headers.etag]).toEqual([false, undefined]);
  });

  it('is not on writes, nor are they compressed', async () => {
    const asked = { 'if-none-match': '*', 'accept-encoding': 'gzip' };
    const { statusCode, headers } = await get('/texts/written', asked, 'POST');
    expect([statusCode, headers.etag, headers['content-encoding']]).toEqual([200, undefined, undefined]);
  });
});

describe('compression', () => {
  const LARGE = '/texts?characters=9000';
  const BODY = `{"success":true,"data":"${TEXT.slice(0, 9000)}"}`;

  it.each(['gzip', 'gzip, deflate, br, zstd', '*', 'GZIP ; q=0.5 , br;q=1.0'])(
    'of large answers as asked for: %s',
    async (accepted) => {
      const { statusCode, headers, rawPayload } = await get(LARGE, { 'accept-encoding': accepted });
      expect([statusCode, headers['content-encoding']]).toEqual([200, 'gzip']);
      expect(headers['content-type']).toBe('application/json; charset=utf-8');
      expect(headers['content-length']).toBe(String(rawPayload.length));
      expect(rawPayload.length).toBeLessThan(1000);
      expect(gunzipSync(rawPayload).toString()).toBe(BODY);
    },
  );

  it.each([
    '',
    'identity',
    'deflate',
    'br',
    'gzip;q=0',
    'gzip;q=0, *',
    'gzip;q=x',
    '*;q=0',
    'identity, gzip;q=0.5',
    'xgzip',
  ])('not when it is not asked for: %s', async (accepted) => {
    const { headers, payload } = await get(LARGE, { 'accept-encoding': accepted });
    expect([headers['content-encoding'], payload]).toEqual([undefined, BODY]);
  });

  it('keeps the ETag, and says to caches what it depends on', async () => {
    const plain = await get(LARGE);
    const packed = await get(LARGE, { 'accept-encoding': 'gzip' });
    const tag = String(plain.headers.etag);
    const unchanged = await get(LARGE, { 'accept-encoding': 'gzip', 'if-none-match': tag });
    expect(unchanged.statusCode).toBe(304);
    for (const { headers } of [plain, packed, unchanged])
      expect([headers.vary, headers.etag]).toEqual([expect.stringContaining('Accept-Encoding'), tag]);
    expect(unchanged.headers).not.toHaveProperty('content-encoding');
    expect((await get('/texts/varying')).headers.vary).toBe('Origin, Accept-Encoding');
  });

  it('HEAD tells the length of the plain text', async () => {
    const { headers } = await get(LARGE, { 'accept-encoding': 'gzip' }, 'HEAD');
    expect([headers['content-encoding'], headers['content-length']]).toEqual([
      undefined,
      String(BODY.length),
    ]);
  });

  it.each([
    '/texts?characters=7000',
    '/texts/top-level-copy',
    '/metrics',
    '/health',
    '/example/answers/file',
  ])('not of small answers, nor of sign-in, nor of what has no envelope: %s', async (url) => {
    const { statusCode, headers } = await get(url, { 'accept-encoding': 'gzip' });
    expect([statusCode, headers['content-encoding']]).toEqual([200, undefined]);
    expect(String(headers.vary)).not.toContain('Accept-Encoding');
  });
});
