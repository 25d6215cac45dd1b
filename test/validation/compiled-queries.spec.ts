import { ValidationPipe } from '@nestjs/common';
import { Transform, type TransformFnParams, Type } from 'class-transformer';
import {
  IsArray,
  IsDate,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  Max,
  Min,
  getMetadataStorage,
} from 'class-validator';
import fastify from 'fastify';
import fc from 'fast-check';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { TRANSACTION_STATUSES, TRANSACTION_TYPES } from '#values/types';
import { IsLimit, PageQuery, toInteger } from '#platform/answers/pagination';
import type { ApiError } from '#platform/errors/errors';
import { validationFailed } from '#platform/errors/errors';
import { describeViolations } from '#platform/errors/violations';
import { compileRules } from '#platform/validation/compiled-rules';
import { DtoPipe } from '#platform/validation/validation.pipe';
import { TOPICS } from '#ledger/outbox/ledger-event';
import { EventsQuery } from '#extensions/events/events.dto';
import { ListWinnersQuery, WINNER_CURSOR } from '#features/lottery/lottery.dto';
import {
  CompoundingCallsQuery,
  DepositCallsQuery,
  TicketCallsQuery,
  WithdrawCallsQuery,
} from '#extensions/payments/calls.dto';
import { DrawCallsQuery } from '#extensions/payments/draw-calls.dto';
import { CirclePaymentQuery, OpenCircleQuery } from '#extensions/circles/circle-calls.dto';
import { ExportQuery } from '#extensions/people/people.dto';
import { ListPoolsQuery, POOL_CURSOR } from '#features/pools/pools.dto';
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

/** The instance with its fields in their order, or the details of the error. */
async function outcome(pipe: ValidationPipe, metatype: Dto, query: Query): Promise<unknown> {
  try {
    const made = (await pipe.transform(asFastify(structuredClone({ ...query })), {
      type: 'query',
      metatype,
    })) as object;
    return { class: made.constructor.name, fields: Object.entries(made) };
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
          expect(await outcome(pipe, dto, query)).toEqual(await outcome(ORDINARY, dto, query));
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
