import { Type } from 'class-transformer';
import {
  IsArray,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  Min,
  ValidateIf,
  ValidateNested,
  type ValidatorOptions,
  validate,
} from 'class-validator';
import { DtoPipe } from './validation.pipe';

class Lot {
  @IsInt() @Min(1) size: number;
}
class Line {
  @IsString() sku: string;
  @IsOptional() @IsInt() count: number = 1;
  @IsOptional() @ValidateNested({ each: true }) @Type(() => Lot) lots?: Lot[];
}
class Order {
  @IsArray() @ValidateNested({ each: true }) @Type(() => Line) lines: Line[];
  @IsOptional() @ValidateNested() @Type(() => Lot) lot?: Lot;
  @IsOptional() @ValidateNested({ each: true }) @Type(() => Lot) byName?: Map<string, Lot>;
}
class Profile {
  /** null removes the name; an absent one leaves it. */
  @IsOptional() @IsString() nickname?: string | null;
  @ValidateIf((_, value) => value !== null) @IsString() title: string | null;
  @IsOptional() @IsIn(['en', 'de']) language: string = 'en';
}
class Undecorated {
  any: unknown;
}

const take = (metatype: new () => object, value: unknown, data?: string): Promise<any> =>
  // Refuses anything but an object at once.
  Promise.resolve().then(() => new DtoPipe().transform(value, { type: 'body', metatype, data }));
const refused = (...fields: string[]): object => ({
  details: fields.map((field) => expect.objectContaining({ field })),
});

describe('a DTO', () => {
  it('has its nested fields named at every depth', async () => {
    const wrong = {
      lines: [{ sku: 1 }, { sku: 'a', lots: [{ size: 1 }, { size: 0 }] }, [{ sku: 1 }], 'x'],
      lot: { size: 'x' },
      byName: { first: { size: 0 } },
    };
    const fields = ['lines[0].sku', 'lines[1].lots[1].size', 'lines[2][0].sku', 'lines[3]'];
    const error = await take(Order, wrong).catch((thrown: unknown) => thrown);
    const named = (error as { details: { field: string }[] }).details.map(({ field }) => field);
    expect([...new Set(named)]).toEqual([...fields, 'lot.size', 'byName[first].size']);
  });

  it('is an instance, without the fields that have no rule, nested ones too', async () => {
    const order = await take(Order, {
      lines: [{ sku: 'a', count: null, price: 1 }],
      lot: { size: 2, constructor: 'x', other: 1 },
      owner: 'someone',
    });
    expect(order).toEqual({ lines: [{ sku: 'a', count: 1 }], lot: { size: 2 } });
    expect(order.lines[0]).toBeInstanceOf(Line);
  });

  it('without lists and objects is validated in the same way, whatever the names of its fields', async () => {
    const given = JSON.parse('{"sku":"a","count":2,"price":1,"constructor":"x","__proto__":"y"}') as unknown;
    const line = (await take(Line, given)) as Line;
    expect(line).toBeInstanceOf(Line);
    expect(line).toEqual({ sku: 'a', count: 2 });
    await expect(take(Line, { sku: ['a'], count: 'x' })).rejects.toMatchObject({
      details: [{ field: 'sku' }, { field: 'count' }],
    });
    await expect(take(Line, { sku: Array(1501).fill('a') })).rejects.toMatchObject(refused('body'));
  });

  it('may get rules after its first validation, and rules of groups', async () => {
    class Base {
      size: number;
    }
    class Part extends Base {
      @IsString() code: string;
    }
    const given = { code: 'y', size: 1 };
    expect(await take(Part, given)).toEqual({ code: 'y' });
    Min(5)(Base.prototype, 'size');
    await expect(take(Part, given)).rejects.toMatchObject(refused('size'));
    IsIn(['x'], { groups: ['strict'] })(Part.prototype, 'code');
    const fieldsIn = async (options: ValidatorOptions): Promise<string[]> =>
      (await validate(Object.assign(new Part(), given), options)).map(({ property }) => property);
    expect(await fieldsIn({})).toEqual(['code', 'size']);
    expect(await fieldsIn({ groups: ['strict'] })).toEqual(['code']);
    expect(await fieldsIn({ strictGroups: true })).toEqual(['size']);
  });

  it('without rules is unchanged', async () => {
    const given = { any: { thing: [null, 1] }, other: null };
    expect(await take(Undecorated, given)).toEqual(given);
  });

  it('has null where it may be null, and the default where there is one', async () => {
    const nulls = { nickname: null, title: null, language: null };
    expect(await take(Profile, nulls)).toEqual({ ...nulls, language: 'en' });
    expect(await take(Profile, { title: 'Dr' })).toEqual({ title: 'Dr', language: 'en' });
    await expect(take(Profile, {})).rejects.toMatchObject(refused('title'));
  });

  it('may be a part of the body, which may be absent', async () => {
    expect(await take(Profile, undefined, 'part').catch((error: unknown) => error)).toMatchObject(
      refused('title'),
    );
    await expect(take(Profile, 'x', 'part')).rejects.toMatchObject(refused('part'));
  });
});

it.each([
  ['12', Number, 12],
  ['true', Boolean, true],
  [undefined, Number, undefined],
])('a parameter %j becomes what its type says', async (value, metatype, expected) =>
  expect(await new DtoPipe().transform(value, { type: 'query', metatype, data: 'n' })).toBe(expected),
);
