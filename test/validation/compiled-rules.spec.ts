import { ValidationPipe } from '@nestjs/common';
import { Exclude, Expose, Type } from 'class-transformer';
import {
  Allow,
  IsArray,
  IsIn,
  IsInstance,
  IsOptional,
  IsString,
  Length,
  Matches,
  Validate,
  ValidateBy,
  ValidateIf,
  ValidateNested,
  ValidatorConstraint,
  registerDecorator,
} from 'class-validator';
import fc from 'fast-check';
import { compileRules } from '#platform/validation/compiled-rules';
import { DtoPipe, MAX_VALUES } from '#platform/validation/validation.pipe';
import { TOPICS } from '#ledger/outbox/ledger-event';
import { CreatePoolRequest } from '#features/pools/pools.dto';
import { CreateWebhookRequest, UpdateWebhookRequest } from '#extensions/webhooks/webhooks.dto';

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

const SCALARS = [
  ...[
    'a',
    'b',
    'x',
    'xx',
    '',
    '0x12',
    'lottery',
    '25000000000000000000',
    `0x${'8'.repeat(40)}`,
    'https://a.example',
  ],
  ...[0, 1, -1, true, false, null, undefined],
];
const scalar = fc.constantFrom(...SCALARS);
const value = fc.oneof(
  scalar,
  fc.array(fc.oneof(scalar, fc.array(scalar)), { maxLength: 3 }),
  fc.object({ maxDepth: 1 }),
);
const NAMES = 'kind text list type initialDeposit autoCompound members url topics enabled other'.split(' ');
const body = fc.dictionary(fc.constantFrom(...NAMES, 'constructor', 'toString', 'hasOwnProperty'), value, {
  maxKeys: 6,
  noNullPrototype: true,
});
const newPool = fc.record(
  {
    type: fc.constantFrom('lottery', 'rotating', 'savings'),
    initialDeposit: fc.constantFrom('25000000000000000000', '007', '-1', 5),
    autoCompound: fc.constantFrom(true, false, 'yes', null),
    members: fc.array(fc.constantFrom(`0x${'8'.repeat(40)}`, `0x${'aB'.repeat(20)}`, 'x', null)),
    other: value,
  },
  { requiredKeys: ['type', 'initialDeposit'], noNullPrototype: true },
);
const choice = fc.record(
  {
    kind: fc.constantFrom('a', 'b', 'c'),
    text: fc.constantFrom('', 'x', 'xxx', 1),
    list: fc.array(fc.constantFrom('x', 'xx', 'y')),
  },
  { requiredKeys: ['kind'], noNullPrototype: true },
);
const newWebhook = fc.record(
  {
    url: fc.constantFrom('https://a.example', '', 5),
    topics: fc.array(fc.constantFrom(TOPICS[0], TOPICS[1], 'x'), { maxLength: 2 }),
  },
  { requiredKeys: ['url'], noNullPrototype: true },
);

const changedWebhook = fc.record(
  {
    url: fc.constantFrom('https://a.example', 5, null),
    topics: fc.constantFrom([TOPICS[0]], ['x'], [], null),
    enabled: fc.constantFrom(true, false, 'yes', null),
  },
  { requiredKeys: [], noNullPrototype: true },
);

/** What NestJS's pipe makes of the body with the settings of DtoPipe; undefined if it refuses. */
async function made(metatype: new () => object, from: object): Promise<unknown> {
  const pipe = new ValidationPipe({
    transform: true,
    whitelist: true,
    transformOptions: { exposeUnsetFields: false },
  });
  try {
    return await pipe.transform(structuredClone(from), { type: 'body', metatype });
  } catch {
    return undefined;
  }
}

describe('compiled rules', () => {
  it.each<[new () => object, fc.Arbitrary<Record<string, unknown>>]>([
    [CreatePoolRequest, newPool],
    [CreateWebhookRequest, newWebhook],
    [UpdateWebhookRequest, changedWebhook],
    [Choice, choice],
  ])('make what class-transformer and class-validator make, or nothing: %p', async (dto, own) => {
    let taken = 0;
    const any = fc.oneof({ weight: 6, arbitrary: own }, body, newPool, choice, newWebhook, changedWebhook);
    await fc.assert(
      fc.asyncProperty(any, async (from) => {
        const compiled = compileRules(dto)?.(from);
        if (!compiled) return;
        taken++;
        const expected = await made(dto, from);
        expect(expected).toBeInstanceOf(dto);
        expect(compiled).toBeInstanceOf(dto);
        expect(Object.entries(compiled)).toEqual(Object.entries(expected as object));
      }),
      { numRuns: 500 },
    );
    expect(taken).toBeGreaterThan(5);
  });

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
    expect(await made(Renamed, { oldName: 'x' })).toEqual({ name: 'x' });
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
