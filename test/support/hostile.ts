import fc from 'fast-check';

/** Values that something between the socket and a row may choke on. */
const NASTY = [
  ...['', ' ', '\0', 'a\0b', '\ud800', 'x\udfff', '\u202e', '\ufeff', '💰', 'é', '\n', '\r\n', '\\'],
  ...['"', "'", "';--", '$1', '%s', '%', '%00', '__proto__', 'constructor', 'prototype', 'toString'],
  ...['null', 'undefined', 'NaN', 'Infinity', 'true', '[object Object]', '0', '-0', '-1', '+1'],
  ...['1.5', '1e309', '1e10', '0x10', '0b1', '1_000', '٣', '9007199254740993', '2147483648'],
  ...['18446744073709551616', '9'.repeat(78), `1${'0'.repeat(400)}`, '0'.repeat(500)],
  ...[(2n ** 256n).toString(), `0x${'f'.repeat(40)}`, `0X${'f'.repeat(40)}`, `0x${'g'.repeat(40)}`],
  ...[`0x${'0'.repeat(64)}`, `0x${'6492'.repeat(40)}`, '00000000-0000-0000-0000-000000000000'],
  ...['ffffffff-ffff-ffff-ffff-ffffffffffff', '{00000000-0000-0000-0000-000000000000}', '<script>'],
  ...['../../etc/passwd', '${jndi:x}', 'a'.repeat(5000)],
];

export const text = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...NASTY) },
  fc.string({ unit: 'binary', maxLength: 50 }),
  fc.string({
    unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
    maxLength: 20,
  }),
);

/** JSON as text, since some of it no JavaScript value is written as. */
export const json = fc.oneof(
  { weight: 3, arbitrary: text.map((value) => JSON.stringify(value)) },
  fc.constantFrom(
    ...['1e309', '-1e309', '1e-400', '-0', '1'.repeat(400), '10000000000000000000', 'null', 'true'],
    ...['false', '{}', '[]', '[[]]', '[[[[["x"]]]]]', '[null]', '{"__proto__":{"a":1}}'],
    ...['{"constructor":{"prototype":{"a":1}}}', '{"length":1e9}', '{"toString":1}', '{"then":1}'],
    ...['["\\u0000"]', '{"\\u0000":1}', `${'['.repeat(3000)}${']'.repeat(3000)}`],
    ...[`[${'"x",'.repeat(500)}"x"]`, '01', 'NaN', '"\\x"', '"\\ud800\\u0000"'],
  ),
  fc.json({ maxDepth: 4 }),
);

export const headerText = text.map((value) => value.replace(/[^\x20-\x7e\xa0-\xff]/g, ''));

/** A query with some of the names, and one that nobody asked for. */
export const query = (...names: string[]): fc.Arbitrary<string> =>
  fc
    .array(fc.tuple(fc.oneof(fc.constantFrom(...names), text), text), { minLength: 1, maxLength: 4 })
    .map((pairs) => pairs.map((pair) => pair.map(encode).join('=')).join('&'));

export const encode = (value: string): string => encodeURIComponent(Buffer.from(value).toString());

/** An object whose valid fields are replaced, left out or joined by others. */
export function body(valid: () => Record<string, unknown>): fc.Arbitrary<() => string> {
  const field = fc.tuple(fc.oneof(fc.constantFrom(...Object.keys(valid())), text), json);
  const fields = fc.array(field, { minLength: 1, maxLength: 3 });
  const object = fields.map((changes) => (): string => {
    const all = new Map(Object.entries(valid()).map(([name, value]) => [name, JSON.stringify(value)]));
    for (const [name, value] of changes) all.set(name, value);
    return `{${[...all].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`;
  });
  return fc.oneof(
    { weight: 6, arbitrary: object },
    json.map((whole) => () => whole),
    text.map((whole) => () => whole),
  );
}
