import { statement } from './statement';

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
    });
  });

  it.each([
    'x::a',
    `'it''s :c :: /* '`,
    `E'\\' :c'`,
    '":c"',
    '-- :c\n',
    '/* :c /* :c */ :c */',
    '$$ :c $$',
    '$tag$ :c $$ :c $tag$',
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

  it('does not load with an unknown name, or with an unused parameter', () => {
    expect(() => two(':a, :b, :c')).toThrow('two: ":c" is no parameter');
    expect(() => two(':a, :toString, :b')).toThrow('":toString" is no parameter');
    expect(() => two(':a')).toThrow('two: ":b" is not in the text');
    expect(() => two(`:a, ':b'`)).toThrow('":b" is not in the text');
  });

  it('does not compile with a type that does not fit, one too many, or one too few', () => {
    // @ts-expect-error a number is no text
    statement<{ a: number }, object>('x', { a: 'text' }, ':a');
    // @ts-expect-error b has no value
    expect(() => statement<{ a: number }, object>('x', { a: 'integer', b: 'text' }, ':a')).toThrow();
    // @ts-expect-error b has no type
    expect(() => statement<Two, object>('x', { a: 'integer' }, ':a, :b')).toThrow();
  });
});
