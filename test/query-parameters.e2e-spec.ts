import { Controller, Get, Module, Query, Req } from '@nestjs/common';
import { ApiQuery } from '@nestjs/swagger';
import { Expose } from 'class-transformer';
import { IsOptional, IsString } from 'class-validator';
import type { FastifyRequest } from 'fastify';
import { PageQuery } from '#platform/answers/pagination';
import { Public } from '#features/access/auth.guard';
import { type SignedIn, useApp } from './support/app';

class FilterQuery extends PageQuery {
  @IsOptional()
  @IsString()
  name?: string;

  @Expose({ name: 'pool_id' })
  @IsOptional()
  poolId?: string;
}

class UntypedQuery {
  anything?: string;
}

/** Every way in which NestJS gives a handler its query. */
@Controller('querying')
@Public()
class QueryingController {
  @Get('class')
  byClass(@Query() query: FilterQuery): unknown {
    return query;
  }

  @Get('names')
  byNames(@Query('a') a?: string, @Query('b.c') b?: string): unknown {
    return { a, b };
  }

  @Get('both')
  byBoth(@Query('a') a: string, @Query() query: FilterQuery): unknown {
    return { a, ...query };
  }

  @Get('plain')
  plain(@Query() query: Record<string, string>): unknown {
    return query;
  }

  @Get('untyped')
  untyped(@Query() query: UntypedQuery): unknown {
    return query;
  }

  @Get('documented')
  @ApiQuery({ name: 'search' })
  documented(@Req() { query }: FastifyRequest): unknown {
    return query;
  }

  @Get('none')
  none(): string {
    return 'knows nothing';
  }
}

@Module({ controllers: [QueryingController] })
class QueryingModule {}

const app = useApp({ METRICS_TOKEN: 'x'.repeat(32) }, { modules: [QueryingModule] });
let user: SignedIn;
beforeAll(async () => {
  user = await app.signIn();
});

const refusal = (...fields: string[]): unknown => ({
  success: false,
  error: 'Validation failed',
  code: 'validation_failed',
  details: fields.map((field) => ({ field, message: 'unknown parameter' })),
});

describe('an unknown query parameter', () => {
  it('is 400 at every endpoint of the document, and _ is not', async () => {
    for (const [path, operations] of Object.entries(app.validator.document.paths))
      for (const method of Object.keys(operations)) {
        if (path.startsWith('/querying/')) continue;
        const url = path.replace(/\{\w+\}/g, '01890000-0000-7000-8000-000000000000');
        const as = path === '/metrics' ? { token: 'x'.repeat(32) } : user;
        const send = (query: string) =>
          app.send({
            method: method.toUpperCase(),
            url: `${url}?${query}`,
            as,
            body: method === 'post' ? {} : undefined,
          });
        const { status, body } = await send('lmiit=5&_=1');
        expect([path, status, body]).toEqual([path, 400, refusal('lmiit')]);
        // A stream that opens does not end.
        if (path === '/events') continue;
        const { body: other } = await send('_=1');
        expect(JSON.stringify(other ?? '')).not.toContain('unknown parameter');
        user = await app.signIn(user.wallet);
      }
  });

  it('comes behind the question who asks', async () => {
    expect((await app.get('/pools?x=1')).status).toBe(401);
    expect((await app.get('/auth/me?token=x')).status).toBe(401);
  });

  it.each([
    ['__proto__=1', ['__proto__']],
    ['constructor=1&toString=2', ['constructor', 'toString']],
    ['hasOwnProperty', ['hasOwnProperty']],
    ['type=lottery&x=1&y=2&x=3', ['x', 'y']],
    ['page[]=1', ['page[]']],
    ['filter[page]=1', ['filter[page]']],
    ['Page=1', ['Page']],
    ['=1', ['']],
    ['%00=1', ['\0']],
  ])('has its name in the details: %s', async (query, fields) => {
    const { status, body } = await app.get(`/pools?${query}`, user);
    expect([status, body]).toEqual([400, refusal(...fields)]);
  });

  it.each(['page=1&page=2', 'type=lottery&type=rotating', 'limit=1&limit=1'])(
    'a known one that is repeated is 400 too: %s',
    async (query) => {
      const { status, body } = await app.get(`/pools?${query}`, user);
      expect([status, body.code]).toEqual([400, 'validation_failed']);
    },
  );

  it('many are named up to twenty, and shortened', async () => {
    const names = Array.from({ length: 50 }, (_, i) => `${'x'.repeat(300)}${i}`);
    const { status, text, body } = await app.get(`/pools?${names.join('&')}`, user);
    expect([status, body.details.length]).toEqual([400, 20]);
    expect(text.length).toBeLessThan(7000);
  });
});

describe('what a handler knows', () => {
  const ask = async (url: string): Promise<[number, unknown]> => {
    const answer = await app.nest.inject({ url: `/querying/${url}` });
    const body = answer.json<{ data?: unknown }>();
    return [answer.statusCode, answer.statusCode === 200 ? body.data : body];
  };

  it.each<[string, unknown]>([
    ['class?name=a&page=2&_=9', { name: 'a', page: 2, limit: 20 }],
    ['class?pool_id=7', { page: 1, limit: 20, poolId: '7' }],
    ['names?a=1&b.c=2', { a: '1', b: '2' }],
    ['names?a=1&a=2', { a: '1,2' }],
    ['both?a=1&name=x', { a: '1', name: 'x', page: 1, limit: 20 }],
    ['plain?what=ever&_=1', { what: 'ever', _: '1' }],
    ['untyped?what=ever', { what: 'ever' }],
    ['documented?search=x', { search: 'x' }],
    ['none?_=1', 'knows nothing'],
  ])('%s', async (url, data) => expect(await ask(url)).toEqual([200, data]));

  it.each([
    ['class?nmae=a', 'nmae'],
    ['names?c=1', 'c'],
    ['both?b=1', 'b'],
    ['documented?serach=x', 'serach'],
    ['none?a=1', 'a'],
  ])('and what not: %s', async (url, name) => expect(await ask(url)).toEqual([400, refusal(name)]));
});
