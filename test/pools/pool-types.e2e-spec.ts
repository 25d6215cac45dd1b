import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { POOL_TYPES } from '#values/types';

/** What the compiler cannot see of a new pool type: see `POOL_TYPES`. */
describe('every pool type', () => {
  const ALL = [...POOL_TYPES].sort();

  it.each(['.env.example', 'docs/configuration.md', 'deploy/compose.yaml'])(
    'has a contract in %s',
    (file) => {
      const lines = readFileSync(join(__dirname, '../..', file), 'utf8').split('\n');
      const line = lines.find((each) => /\bPOOL_CONTRACTS\b.*=0x/.test(each)) ?? '';
      expect([...line.matchAll(/(\w+)=0x/g)].map(([, type]) => type).sort()).toEqual(ALL);
    },
  );
});
