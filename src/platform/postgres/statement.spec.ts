import { partOf, statement } from './statement';

interface Two {
  a: number;
  b: string | null;
}
const two = (text: string): string => statement<Two, object>('two', { a: 'integer', b: 'text' }, text).text;

describe('statement', () => {
  it('numbers its parameters in the order in which the text has them', () => {
    const found = statement<Two, { x: number }>('two', { a: 'integer', b: 'text' }, 'SELECT :b, :a, :b AS x');
    expect(found).toEqual({
      name: 'two',
      text: 'SELECT ($1::text), ($2::integer), ($1::text) AS x',
      parameters: ['b', 'a'],
      source: 'SELECT :b, :a, :b AS x',
      parameterTypes: { a: 'integer', b: 'text' },
    });
  });

  it.each([
    'x::a',
    `'it''s :c :: /* '`,
    '":c"',
    '-- :c\n',
    '/* :c\n :c */',
    'x[1:2]',
    'x[n:m]',
    'f(c := 1)',
    `x::timestamptz(3)`,
    `jsonb '{"a":1}'`,
    'x ? y',
  ])('leaves %j as it is', (text) => {
    expect(two(`${text} = :a || :b`)).toBe(`${text} = ($1::integer) || ($2::text)`);
  });

  it.each([
    [':a::text, :b', '($1::integer)::text, ($2::text)'],
    ['(:a,:b)', '(($1::integer),($2::text))'],
    ['x[:a : 2], :b', 'x[($1::integer) : 2], ($2::text)'],
    [`':c':a, :b`, `':c'($1::integer), ($2::text)`],
    ['/* */:a-- :c\n:b', '/* */($1::integer)-- :c\n($2::text)'],
    ['x=:a AND y<:b', 'x=($1::integer) AND y<($2::text)'],
  ])('finds those in %j', (text, numbered) => {
    expect(two(text)).toBe(numbered);
  });

  it('is a part of another one, with some parameters fixed and the others under their names', () => {
    const part = statement<Two, object>(
      'two',
      { a: 'integer', b: 'text' },
      `SELECT ':a'::text, :a, /* :b */ :b || :a`,
    );
    expect(partOf(part, { a: 7 })).toBe(`SELECT ':a'::text, (7::integer), /* :b */ :b || (7::integer)`);
    expect(partOf(part, { b: null })).toBe(`SELECT ':a'::text, :a, /* :b */ (null::text) || :a`);
    expect(partOf(part, {})).toBe(part.source);
    // @ts-expect-error what callers say is no part of a text
    partOf(part, { b: 'x' });
  });

  it('does not load with an unknown name, or with an unused parameter', () => {
    expect(() => two(':a, :b, :c')).toThrow('two: ":c" is no parameter');
    expect(() => two(':a, :toString, :b')).toThrow('":toString" is no parameter');
    expect(() => two(':a')).toThrow('two: ":b" is not in the text');
    expect(() => two(`:a, ':b'`)).toThrow('":b" is not in the text');
  });
});
