import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The yield rule stands in four places on purpose: each is checked against the others. */
const PLACES = [
  'contracts/SavingsPool.sol',
  'src/indexer/ledger/positions.ts',
  'src/verify/checks/yield-model.ts',
  'src/features/positions/positions.sql.ts',
];

it.each(PLACES)('%s names the other places of the yield rule', (place) => {
  const text = readFileSync(join(__dirname, '../..', place), 'utf8');
  expect(PLACES.filter((other) => !text.includes(other))).toEqual([place]);
});
