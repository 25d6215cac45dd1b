import { ValidationPipe } from '@nestjs/common';
import { Exclude, Expose, Transform, type TransformFnParams, Type } from 'class-transformer';
import {
  Allow,
  IsArray,
  IsDate,
  IsIn,
  IsInstance,
  IsInt,
  IsOptional,
  IsString,
  Length,
  Matches,
  Max,
  Min,
  Validate,
  ValidateBy,
  ValidateIf,
  ValidateNested,
  ValidatorConstraint,
  getMetadataStorage,
  registerDecorator,
} from 'class-validator';
import fastify from 'fastify';
import fc from 'fast-check';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { TRANSACTION_STATUSES, TRANSACTION_TYPES } from '#values/types';
import { IsLimit, PageQuery, toInteger } from '#platform/answers/pagination';
import { type ApiError, validationFailed } from '#platform/errors/errors';
import { describeViolations } from '#platform/errors/violations';
import { compileRules } from '#platform/validation/compiled-rules';
import { DtoPipe, MAX_VALUES } from '#platform/validation/validation.pipe';
import { TOPICS } from '#ledger/outbox/ledger-event';
import { EventsQuery } from '#extensions/events/events.dto';
import { ListWinnersQuery, WINNER_CURSOR } from '#features/lottery/lottery.dto';
import {
  CompoundingCallsQuery,
  DepositCallsQuery,
  DrawCallsQuery,
  TicketCallsQuery,
  WithdrawCallsQuery,
} from '#extensions/payments/calls.dto';
import { CirclePaymentQuery, OpenCircleQuery } from '#extensions/circles/circles.dto';
import { ExportQuery } from '#extensions/people/people.dto';
import { CreateWebhookRequest, UpdateWebhookRequest } from '#extensions/webhooks/webhooks.dto';
import { CreatePoolRequest, ListPoolsQuery, POOL_CURSOR } from '#features/pools/pools.dto';
import {
  ListTransactionsQuery,
  TRANSACTION_CURSOR,
  TakeBackQuery,
} from '#features/transactions/transactions.dto';

type Query = Record<string, unknown>;
type Dto = new () => object;

const OF_THE_SERVICE: Dto[] = [
  CirclePaymentQuery,
  CompoundingCallsQuery,
  DepositCallsQuery,
  DrawCallsQuery,
  EventsQuery,
  ExportQuery,
  ListPoolsQuery,
  ListTransactionsQuery,
  ListWinnersQuery,
  OpenCircleQuery,
  PageQuery,
  TakeBackQuery,
  TicketCallsQuery,
  WithdrawCallsQuery,
];

class Choice {
  @IsIn(['a', 'b'])
  kind: string;

  @ValidateIf(({ kind }: Choice) => kind === 'a')
  @Length(1, 2)
  text?: string;

  @IsOptional()
  @IsArray()
  @Matches(/^x+$/, { each: true })
  list: string[] = ['x'];
}

/** Fields with what a module may add to them. */
class Shown extends PageQuery {
  @IsOptional() @Type(() => Number) @IsInt() @Min(1) size?: number;
  @IsOptional() @Type(() => Date) @IsDate() since: Date = new Date(0);
  @IsOptional() @Type(() => Boolean) all: boolean = false;
  @IsOptional() @Type(() => String) @IsString({ each: true }) names?: string[];
  @IsOptional() @Type(() => Number) @IsArray() @Max(5, { each: true }) sizes: number[] = [1];
  @IsOptional() @Transform(({ value }) => (value === '' ? undefined : (value as unknown))) @IsIn(['a']) kind =
    'a';
  @IsOptional() @Transform(({ value }) => [value, [value]] as unknown) @IsArray() nested?: unknown[];
  @IsOptional()
  @Transform(({ value }) => (value === 'x' ? null : (value as unknown)))
  @IsString()
  none?: string;
}

class Inheriting extends Shown {
  @IsLimit(7) declare limit: number;
  @Transform(({ value }) => Number(value) * 2) declare size?: number;
  @Transform(({ key, obj, type, options }: TransformFnParams) =>
    JSON.stringify({ key, obj: obj as Query, type, options }),
  )
  @IsString()
  told: string = 'nothing';
}

const ID = '018f2f6e-7b7a-7c3e-8a55-0123456789ab';
const CURSORS = [
  ...[TRANSACTION_CURSOR.encode(ID), POOL_CURSOR.encode(ID)],
  WINNER_CURSOR.encode(`1700000000000 1 0x${'1'.repeat(40)}`),
];
const NUMBERS = ['1', '2', '100', '101', '0', '007', '1e1', '-1', '0x10', '2147483648'];
const TIMES = ['2026-01-31', '2026-01-31T12:00:00Z', '2026-02-30', 'now'];
const PAIR = `0x${'a'.repeat(40)},0x${'B'.repeat(40)}`;
const AMOUNTS = [...Array.from({ length: 12 }, (_, n) => `${n + 1}000`), '-1'];
const VALUES: Record<string, readonly string[]> = {
  ...{ page: NUMBERS, limit: NUMBERS, size: NUMBERS, sizes: NUMBERS, count: NUMBERS },
  ...{
    hash: [`0x${'7'.repeat(64)}`, '0x7'],
    poolId: [ID, 'x'],
    drawId: ['7', '9007199254740991', '9007199254740992', '1e1'],
    contract: [`0x${'a'.repeat(40)}`, '0xa'],
    transaction: [ID],
    type: [...TRANSACTION_TYPES, 'lottery', 'x'],
  },
  ...{ status: [...TRANSACTION_STATUSES, 'x'], from: TIMES, to: TIMES, since: TIMES },
  ...{ order: ['asc', 'desc', 'up'], after: CURSORS, ticket: ['t'.repeat(100), 't'.repeat(101)] },
  ...{ topics: [TOPICS[0], `${TOPICS[0]},${TOPICS[1]}`, 'x,', ','], lastEventId: ['1', '2'.repeat(101)] },
  ...{ amount: ['1', '25000000000000000000', '1'.repeat(79), '-1', '1.5'] },
  ...{
    contribution: AMOUNTS,
    collateral: AMOUNTS,
    period: [...Array.from({ length: 12 }, (_, n) => `${3600 + n}`), '3599'],
    joinBy: Array.from({ length: 9 }, (_, n) => `2026-12-2${n + 1}T05:00:00Z`),
    members: [PAIR, `${PAIR},${PAIR}`, `${PAIR},${PAIR},${PAIR}`, PAIR, PAIR, PAIR, `${PAIR},${ID}`],
  },
  ...{
    all: ['true', 'false'],
    enabled: ['true', 'false'],
    names: ['a', 'b'],
    kind: ['a', 'b'],
    nested: ['x'],
    none: ['x', 'y'],
    told: ['z'],
  },
};
/** Fields of a query that is never taken without them: more than are picked of others. */
const REQUIRED = new Map<unknown, string[]>([
  [OpenCircleQuery, ['contribution', 'period', 'joinBy', 'members']],
]);
const UNKNOWN = ['_', 'other', 'constructor', 'toString', 'then', 'hasOwnProperty', 'prototype', 'valueOf'];

const [ONE, TWO] = [`0x${'8'.repeat(40)}`, `0x${'aB'.repeat(20)}`];
const TOPIC_LISTS = [[TOPICS[0]], [TOPICS[1], TOPICS[0]], ['x'], [], null];
const URLS = ['https://a.example', '', 5, null];
/** Bodies: values of their fields, and those that they need to be taken. */
const BODIES: [Dto, Record<string, readonly unknown[]>, string[]][] = [
  [
    CreatePoolRequest,
    {
      type: ['lottery', 'rotating', 'savings'],
      initialDeposit: ['25000000000000000000', '007', '-1', 5],
      autoCompound: [true, false, 'yes', null],
      members: [[], [ONE], [ONE, TWO], ['x'], [ONE, null], Array(1)],
    },
    ['type', 'initialDeposit'],
  ],
  [CreateWebhookRequest, { url: URLS, topics: TOPIC_LISTS }, ['url']],
  [UpdateWebhookRequest, { url: URLS, topics: TOPIC_LISTS, enabled: [true, false, 'yes', null] }, []],
  [
    Choice,
    { kind: ['a', 'b', 'c'], text: ['', 'x', 'xxx', 1], list: [[], ['x'], ['xx', 'y'], [['x']]] },
    ['kind'],
  ],
];
const SCALARS = ['', 'a', 'x', ...[0, 1, -1, true, false, null, undefined]];
/** Also what belongs to other bodies, and what no rule expects. */
const anything = fc.dictionary(
  fc.constantFrom(...BODIES.flatMap(([, values]) => Object.keys(values)), 'other', 'constructor', 'toString'),
  fc.oneof(
    fc.constantFrom(...SCALARS, ...BODIES.flatMap(([, values]) => Object.values(values).flat())),
    fc.array(fc.constantFrom(...SCALARS, ['x']), { maxLength: 3 }),
    fc.object({ maxDepth: 1 }),
  ),
  { maxKeys: 6, noNullPrototype: true },
);

/** Fastify gives queries a prototype of their own, without the methods of objects. */
const NOTHING = Object.create(null) as object;
const asFastify = (query: Query): Query => Object.assign(Object.create(NOTHING) as Query, query);

function queriesOf(dto: Dto): fc.Arbitrary<Query> {
  const rules = getMetadataStorage().getTargetValidationMetadatas(dto, '', false, false);
  const fields = [...new Set(rules.map(({ propertyName }) => propertyName))];
  const required = REQUIRED.get(dto) ?? [];
  const valueOf = (name: string): fc.Arbitrary<unknown> => {
    const known = Object.hasOwn(VALUES, name) ? VALUES[name] : [];
    const one = fc.constantFrom('', 'x', ...known, ...known);
    const weight = required.includes(name) ? 20 : 5;
    return fc.oneof({ weight, arbitrary: one }, fc.array(one, { minLength: 2, maxLength: 3 }));
  };
  const model = (names: string[]) => Object.fromEntries(names.map((name) => [name, valueOf(name)]));
  const own = fc.record(model(fields), { requiredKeys: required });
  const all = fc.record(model([...Object.keys(VALUES), ...UNKNOWN]), { requiredKeys: [] });
  return fc.oneof({ weight: 3, arbitrary: pick(own, Math.max(3, required.length)) }, pick(all, 5));
}

/** At most `most` fields of each, since more would hardly ever obey all rules. */
const pick = (from: fc.Arbitrary<Query>, most: number): fc.Arbitrary<Query> =>
  fc.tuple(from, fc.infiniteStream(fc.nat(99))).map(([query, order]) =>
    asFastify(
      Object.fromEntries(
        Object.entries(query)
          .map((entry) => ({ entry, at: order.next().value as number }))
          .sort((a, b) => a.at - b.at)
          .slice(0, most)
          .map(({ entry }) => entry),
      ),
    ),
  );

const ORDINARY = new ValidationPipe({
  transform: true,
  whitelist: true,
  transformOptions: { exposeUnsetFields: false },
  forbidUnknownValues: false,
  validationError: { target: false, value: true },
  exceptionFactory: (errors) => validationFailed(...describeViolations(errors)),
});

/** What was made, with its fields in their order. */
const shown = (made: object): object => ({ class: made.constructor.name, fields: Object.entries(made) });

/** The instance, or the details of the error. */
async function outcome(pipe: ValidationPipe, metatype: Dto, from: Query): Promise<unknown> {
  try {
    return shown((await pipe.transform(from, { type: 'query', metatype })) as object);
  } catch (error) {
    return { details: (error as ApiError).details };
  }
}

describe('compiled rules of queries', () => {
  it('are tested for every query of the service', () => {
    const src = join(__dirname, '../../src');
    const named = readdirSync(src, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.controller.ts'))
      .flatMap((file) => [...readFileSync(join(src, file), 'utf8').matchAll(/@Query\(\) [^:]+: (\w+)/g)])
      .map(([, name]) => name);
    expect(named.length).toBeGreaterThan(10);
    const tested = new Set(OF_THE_SERVICE.map(({ name }) => name));
    expect(named.filter((name) => !tested.has(name))).toEqual([]);
  });

  it.each([...OF_THE_SERVICE, Shown, Inheriting])(
    'make and refuse what class-transformer and class-validator do: %p',
    async (dto) => {
      const pipe = new DtoPipe();
      let taken = 0;
      await fc.assert(
        fc.asyncProperty(queriesOf(dto), async (query) => {
          if (compileRules(dto)?.(query)) taken++;
          const copy = (): Query => asFastify(structuredClone({ ...query }));
          expect(await outcome(pipe, dto, copy())).toEqual(await outcome(ORDINARY, dto, copy()));
        }),
        { numRuns: 200 },
      );
      expect(taken).toBeGreaterThan(10);
    },
  );

  it('take what Fastify makes of a query', async () => {
    const app = fastify();
    const seen: unknown[] = [];
    const rules = compileRules(ListPoolsQuery)!;
    app.get('/', ({ query }) => String(seen.push(rules(query as Query))));
    for (const query of ['', '?page=2&limit=5', '?page=x']) await app.inject(`/${query}`);
    await app.close();
    expect(seen).toEqual([{ limit: 20 }, { page: 2, limit: 5 }, undefined]);
    expect(seen[1]).toBeInstanceOf(ListPoolsQuery);
  });

  it('leave to class-transformer what `@Type` and `@Transform` do beyond scalars, or to fields without rules', () => {
    class OfMany {
      @Type(() => Number) @IsOptional() sizes: Set<number>;
    }
    class Chosen {
      @Type((help) => (help ? Number : String)) @IsOptional() size: number;
    }
    class OfClass {
      @Type(() => PageQuery) @IsOptional() page: PageQuery;
    }
    for (const dto of [OfMany, Chosen, OfClass])
      expect([dto.name, compileRules(dto)]).toEqual([dto.name, undefined]);
    class Unruled {
      @IsString() name: string;
      @Transform(toInteger) size: number;
    }
    const rules = compileRules(Unruled)!;
    expect(rules({ name: 'x', other: '1' })).toEqual({ name: 'x' });
    expect(rules({ name: 'x', size: '1' })).toBeUndefined();
  });
});

describe('compiled rules of bodies', () => {
  it.each(BODIES)(
    'make what class-transformer and class-validator make, or nothing: %p',
    async (dto, values, needed) => {
      let taken = 0;
      const fields = Object.entries(values).map(([name, some]) => [name, fc.constantFrom(...some)] as const);
      const own = fc.record<Query>(
        { ...Object.fromEntries(fields), other: fc.constantFrom(...SCALARS) },
        { requiredKeys: needed, noNullPrototype: true },
      );
      await fc.assert(
        fc.asyncProperty(fc.oneof({ weight: 6, arbitrary: own }, anything), async (from) => {
          const compiled = compileRules(dto)?.(from);
          if (!compiled) return;
          taken++;
          expect(compiled).toBeInstanceOf(dto);
          expect(shown(compiled)).toEqual(await outcome(ORDINARY, dto, structuredClone(from)));
        }),
        { numRuns: 500 },
      );
      expect(taken).toBeGreaterThan(5);
    },
  );

  it('leave null, objects and lists with gaps to the rules', () => {
    const rules = compileRules(Choice)!;
    expect(rules({ kind: 'b' })).toEqual({ kind: 'b', list: ['x'] });
    for (const list of [null, {}, [null], [['x']], Array(1)])
      expect(rules({ kind: 'b', list })).toBeUndefined();
    expect(rules(Object.assign(Object.create({ kind: 'b' }), {}))).toBeUndefined();
  });

  it('leave names of methods and setters to class-transformer', async () => {
    class Renamed {
      @IsOptional() @IsString() name?: string;
      set oldName(name: string) {
        this.name = name;
      }
    }
    const rules = compileRules(Renamed)!;
    expect(rules({ name: 'x', other: 1 })).toEqual({ name: 'x' });
    expect(rules({ oldName: 'x' })).toBeUndefined();
    expect(rules({ toString: 'x' })).toBeUndefined();
    expect(await outcome(ORDINARY, Renamed, { oldName: 'x' })).toEqual({
      class: 'Renamed',
      fields: [['name', 'x']],
    });
  });

  it('are not made for what needs more than functions', () => {
    class Typed {
      @IsString() @Type(() => Choice) a: string;
    }
    class Renamed {
      @IsString() @Expose({ name: 'b' }) a: string;
    }
    class Hidden {
      @IsString() @Exclude() a: string;
    }
    class Nested {
      @ValidateNested() a: Choice;
    }
    class Grouped {
      @IsString({ groups: ['g'] }) a: string;
    }
    class Allowed {
      @Allow() a: string;
    }
    class Async {
      a: string;
    }
    const validator = { validate: () => Promise.resolve(false) };
    registerDecorator({
      name: 'later',
      async: true,
      target: Async,
      propertyName: 'a',
      options: {},
      validator,
    });
    @ValidatorConstraint()
    class Provided {
      validate = (): boolean => true;
    }
    class ByProvider {
      @Validate(Provided) a: string;
    }
    class Unruled {
      @IsString() a: string;
      b = 1;
    }
    class Method {
      @IsString() toString: () => string;
    }
    class Without {}
    for (const dto of [Typed, Renamed, Hidden, Nested, Grouped, Allowed, Async, ByProvider, Unruled])
      expect([dto.name, compileRules(dto)]).toEqual([dto.name, undefined]);
    for (const dto of [Method, Without, undefined, 5]) expect(compileRules(dto)).toBeUndefined();
  });

  it('treat a promise as a broken rule, survive its failure, and do not ask again', async () => {
    const failed: unknown[] = [];
    const note = (reason: unknown): number => failed.push(reason);
    process.on('unhandledRejection', note);
    const validate = jest.fn(() => Promise.reject(new Error('no')));
    class Later {
      @ValidateBy({ name: 'later', validator: { validate } })
      a: string;
    }
    const rules = compileRules(Later)!;
    for (let i = 0; i < 2; i++) expect(rules({ a: 'x' })).toBeUndefined();
    expect(validate).toHaveBeenCalledTimes(1);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', note);
    expect(failed).toEqual([]);
  });

  it('are used for bodies: the pipe makes another instance for each', async () => {
    const pipe = new DtoPipe();
    const from = { kind: 'a', text: 'x', other: 1 };
    const meta = { type: 'body', metatype: Choice } as const;
    const [one, two] = [await pipe.transform(from, meta), await pipe.transform(from, meta)];
    expect(one).toEqual({ kind: 'a', text: 'x', list: ['x'] });
    expect(one).toBeInstanceOf(Choice);
    expect(two).not.toBe(one);
    await expect(pipe.transform({ kind: 'a', text: 'xxx' }, meta)).rejects.toMatchObject({ status: 400 });
  });

  it('leave an uploaded file to class-transformer, whatever its size', async () => {
    class Upload {
      @IsString() name: string;
      @IsInstance(Buffer) file: Buffer;
    }
    const from = { name: 'x', file: Buffer.alloc(2 * MAX_VALUES, 'y') };
    expect(await new DtoPipe().transform(from, { type: 'body', metatype: Upload })).toEqual(from);
  });
});
