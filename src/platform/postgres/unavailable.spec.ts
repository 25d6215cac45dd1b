import { endsSession, isRepeatable, meansUnavailable, retiresConnection, tellsNothing } from './unavailable';

/** Those that the codes below end with, and some more. */
const SIGNS = '0123456PZ'.split('');
const pairs = SIGNS.flatMap((first) => SIGNS.map((second) => first + second));
/** Those of the table, and those beside each. */
const CLASSES = '01 07 08 09 0A 22 23 24 25 26 27 28 3F 40 41 42'
  .split(' ')
  .concat(['52', '53', '54', '55', '56', '57', '58', '59', '72', 'XX']);
const codes = CLASSES.flatMap((each) => pairs.flatMap((pair) => SIGNS.map((sign) => each + pair + sign)));

it.each([
  [meansUnavailable, /^(08...|25006|25P03|25P04|26000|40001|40P01|53...|55P03|57...|58...)$/],
  [retiresConnection, /^(08...|25006|26000|55000|57P..)$/],
  [isRepeatable, /^(08...|25006|26000|40001|40P01|57P0.)$/],
  [endsSession, /^(25P03|25P04|57P01|57P04|57P05)$/],
  [tellsNothing, /^08...$/],
])('%p holds for exactly these', (holds, expected) => {
  expect(codes.filter((code) => holds(code) !== expected.test(code))).toEqual([]);
  expect(codes.some(holds)).toBe(true);
});

it.each([undefined, '', '08', '57P0', '570140', 'ECONNREFUSED', '_57P01', '57P01 '])(
  '%j is no SQLSTATE',
  (code) => {
    for (const holds of [meansUnavailable, retiresConnection, isRepeatable, endsSession, tellsNothing])
      expect(holds(code)).toBe(false);
  },
);
