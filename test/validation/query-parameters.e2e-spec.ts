import { Controller, Get, Module, Query, Req } from '@nestjs/common';
import { ApiProperty, ApiQuery, ApiTags } from '@nestjs/swagger';
import { Expose } from 'class-transformer';
import { IsOptional, IsString } from 'class-validator';
import type { FastifyRequest } from 'fastify';
import { PageQuery, Pagination } from '#platform/answers/pagination';
import { ApiData } from '#platform/openapi/api-docs';
import { Public } from '#features/access/auth.guard';
import { type SignedIn, useApp } from '../support/app';
import { ENDPOINTS } from '../support/endpoints';

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

class ShelfQuery {
  @ApiProperty({ required: false })
  @IsOptional()
  @IsString()
  author?: string;
}

/** Handlers that several controllers inherit. */
abstract class Shelf {
  @Get('books')
  @ApiData(Pagination)
  books(@Query() query: ShelfQuery): unknown {
    return query;
  }

  @Get('count')
  count(): number {
    return 0;
  }
}

@Controller('querying/quiet')
@Public()
@ApiTags('quiet')
class QuietShelf extends Shelf {}

@Controller('querying/busy')
@Public()
@ApiTags('busy')
class BusyShelf extends Shelf {}

/** Says something of its own about a handler. */
@Controller('querying/searched')
@Public()
@ApiTags('searched')
class SearchedShelf extends Shelf {
  @Get('books')
  @ApiData(Pagination)
  override books(@Query() query: ShelfQuery, @Query('search') search?: string): unknown {
    return { ...query, search };
  }
}

@Module({ controllers: [QueryingController, QuietShelf, BusyShelf, SearchedShelf] })
class QueryingModule {}

const app = useApp({ METRICS_TOKEN: 'x'.repeat(32) }, { modules: [QueryingModule] });
let user: SignedIn;
beforeAll(async () => {
  user = await app.signIn();
});

const refusal = (...fields: string[]): object => ({
  success: false,
  error: 'Validation failed',
  code: 'validation_failed',
  details: fields.map((field) => ({ field, message: 'unknown parameter' })),
});

describe('an unknown query parameter', () => {
  it('is 400 at every endpoint of the document but those of monitors, and _ is not', async () => {
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
        // Monitors add parameters of their own.
        if (/^\/(health|metrics)/.test(path)) {
          expect([path, status]).toEqual([path, 200]);
          continue;
        }
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
});

describe('an empty value', () => {
  it('is an absent one, of every parameter of the document', async () => {
    for (const [path, { get }] of Object.entries(app.validator.document.paths)) {
      const names =
        get?.parameters?.filter(({ in: place }) => place === 'query').map(({ name }) => name) ?? [];
      // A stream that opens does not end.
      if (names.length === 0 || path === '/events' || path.startsWith('/querying/')) continue;
      const url = path.replace(/\{\w+\}/g, '01890000-0000-7000-8000-000000000000');
      const [without, empty] = [await app.get(url, user), await app.get(`${url}?${names.join('=&')}=`, user)];
      expect([path, empty.status, empty.body]).toEqual([path, without.status, without.body]);
    }
  });

  it.each(['type=&page=&limit=', 'type=&page=1', '_=&page', 'after=&limit=20'])(
    'of a list: %s',
    async (query) =>
      expect((await app.get(`/pools?${query}`, user)).body).toEqual((await app.get('/pools', user)).body),
  );

  it('of a DELETE is an error, as it would delete more', async () => {
    const { depositId } = await app.createPool(user);
    const url = `/transactions/${depositId}/sent`;
    const hash = `0x${'a1'.repeat(32)}`;
    expect((await app.post(url, { hash }, user)).status).toBe(200);
    expect((await app.send({ method: 'DELETE', url: `${url}?hash=`, as: user })).status).toBe(400);
    expect((await app.get(`/transactions/by-id/${depositId}`, user)).body.data.submitted.hash).toBe(hash);
  });

  it.each(['type=%20', 'page=%20', 'page=&page=', 'lmiit='])(
    'is not one that only looks so: %s',
    async (query) => expect((await app.get(`/pools?${query}`, user)).status).toBe(400),
  );
});

type List = [
  path: string,
  limits: [usual: number, most: number],
  pages: 'pages' | 'pages and cursors' | 'cursors',
];

/** How many items a page has where no limit is given, and at most. */
const OWN_LISTS: List[] = [
  ['/pools', [20, 100], 'pages and cursors'],
  ['/transactions', [20, 100], 'pages and cursors'],
  ['/users/me/positions', [20, 100], 'pages'],
  ['/users/me/stray-deposits', [20, 100], 'pages'],
  ['/lottery/winners', [10, 100], 'pages and cursors'],
  ['/lottery/me', [20, 100], 'pages'],
  ['/webhooks', [20, 100], 'pages'],
  ['/users/me/export', [500, 500], 'cursors'],
];

const LISTS = [
  ...OWN_LISTS,
  // Whatever else the document has, such as lists of modules, takes the usual query of a page.
  ...ENDPOINTS.filter(
    ({ operation, path }) =>
      operation.parameters?.some(({ name }) => name === 'limit') &&
      !path.includes('/x/') &&
      !OWN_LISTS.some(([own]) => own === path),
  ).map(({ path }): List => [path, [20, 100], 'pages']),
];

describe('a list', () => {
  it.each(LISTS.filter(([, , pages]) => pages !== 'cursors'))(
    'has nothing for a new user, and so many items to a page: %s',
    async (path, [usual, most], pages) => {
      const newcomer = await app.signIn();
      const next = pages === 'pages and cursors' ? { next: null } : {};
      for (const [query, page, limit] of [
        ['', 1, usual],
        [`?limit=${most}`, 1, most],
        ['?limit=1&page=2147483647', 2147483647, 1],
      ] as const) {
        const { status, body } = await app.get(path + query, newcomer);
        const pagination = { page, limit, total: 0, pages: 0 };
        expect([status, body]).toEqual([200, { success: true, data: [], pagination, ...next }]);
      }
    },
  );

  it.each(LISTS)('is refused with any other limit or page: %s', async (path, [, most], pages) => {
    const numbers = ['0', '-1', '1.5', '1e1', '0x10', 'ten', 'NaN', '%2010', '%00', '9'.repeat(20)];
    const wrong = {
      limit: [...numbers, `${most + 1}`, '1&limit=2'],
      page: pages === 'cursors' ? ['1'] : [...numbers, '2147483648', '1&page=2'],
      after: pages === 'pages' ? ['x'] : ['x', 'null', 'x&after=y', '018f2f6e-7b7a-7c3e-8a55-0123456789ab'],
    };
    for (const [field, values] of Object.entries(wrong))
      for (const value of values) {
        const { status, body } = await app.get(`${path}?${field}=${value}`, user);
        expect([field, value, status, body]).toEqual([
          ...[field, value, 400],
          { ...refusal(), details: expect.any(Array) },
        ]);
        expect((body.details as { field: string }[]).map((detail) => detail.field)).toContain(field);
      }
  });

  it.each([
    ['/pools', 'type', ['savings', 'Lottery', 'DEPOSIT']],
    ['/transactions', 'type', ['deposit', 'lottery', 'DEPOSIT&type=DEPOSIT']],
    ['/transactions', 'status', ['confirmed', 'PENDING&status=EXPIRED']],
    ['/transactions', 'order', ['newest', 'ASC']],
    ['/transactions', 'from', ['yesterday', '2026-02-30', '2026-01-01T00:00:00']],
    ['/transactions', 'to', ['2026-01-01T25:00:00Z', '1767225600000']],
    ['/transactions', 'poolId', ['a&poolId=b']],
  ])('%s is refused with a %s that is none: %j', async (path, field, values) => {
    for (const value of values) {
      const { status, body } = await app.get(`${path}?${field}=${value}`, user);
      expect([value, status, body.details.map((detail: { field: string }) => detail.field)]).toEqual([
        ...[value, 400],
        [field],
      ]);
    }
  });

  it('takes no cursor of another list', async () => {
    await app.createPool(user);
    await app.createPool(user);
    const { next } = (await app.get('/pools?limit=1', user)).body;
    expect((await app.get(`/pools?after=${next}`, user)).status).toBe(200);
    for (const path of ['/transactions', '/lottery/winners'])
      expect((await app.get(`${path}?after=${next}`, user)).body.details[0].field).toBe('after');
    for (const query of [`after=${next}&page=1`, `after=${next}A`])
      expect((await app.get(`/pools?${query}`, user)).status).toBe(400);
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
    ['names?a=&b.c=2', { b: '2' }],
    ['plain?what=', { what: '' }],
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
  ])('and what not: %s', async (url, name) =>
    expect(await ask(url)).toEqual([400, { ...refusal(name), message: 'Validation failed' }]),
  );
});

describe('a handler that controllers inherit', () => {
  const ask = async (url: string) => {
    const { statusCode, payload } = await app.nest.inject({ url: `/querying/${url}` });
    const { data, details } = JSON.parse(payload) as Record<string, unknown>;
    return { status: statusCode, data, details };
  };

  it.each(['quiet', 'busy'])('has the query rules of its DTO: %s', async (shelf) => {
    expect(await ask(`${shelf}/books?author=a`)).toMatchObject({ status: 200, data: { author: 'a' } });
    const { details: unknown } = await ask(`${shelf}/books?author=a&search=x`);
    expect(unknown).toEqual([{ field: 'search', message: 'unknown parameter' }]);
    const { details: invalid } = await ask(`${shelf}/books?author=a&author=b`);
    expect(invalid).toEqual([{ field: 'author', message: 'author must be a string' }]);
    expect((await ask(`${shelf}/count?author=a`)).status).toBe(400);
  });

  it('has other query rules in a controller that overrides it', async () => {
    const { data } = await ask('searched/books?author=a&search=x');
    expect(data).toEqual({ author: 'a', search: 'x' });
    expect((await ask('searched/books?serach=x')).status).toBe(400);
  });

  it('is documented once for each of them, under its own tag', () => {
    const { paths } = app.validator.document;
    const documented = ['quiet', 'busy', 'searched'].map((shelf) => {
      const {
        operationId,
        tags,
        parameters = [],
      } = paths[`/querying/${shelf}/books`].get as {
        operationId: string;
        tags: string[];
        parameters?: { name: string }[];
      };
      return [operationId, tags, parameters.map(({ name }) => name).sort()];
    });
    expect(documented).toEqual([
      ['quietshelf_books', ['quiet'], ['author']],
      ['busyshelf_books', ['busy'], ['author']],
      ['searchedshelf_books', ['searched'], ['author', 'search']],
    ]);
  });
});
