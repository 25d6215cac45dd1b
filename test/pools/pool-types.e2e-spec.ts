import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { POOL_TYPES } from '#values/types';
import { freshDatabase, query } from '../support/database';

/** What the compiler cannot see of a new pool type: see `POOL_TYPES`. */
describe('every pool type', () => {
  const ALL = [...POOL_TYPES].sort();

  it('is known to the database, by its domain', async () => {
    const database = await freshDatabase();
    const found = await query(
      database.url,
      `SELECT word[1] AS type FROM pg_constraint, regexp_matches(pg_get_constraintdef(oid), '''(\\w+)''', 'g') word
       WHERE contypid = 'pool_type'::regtype ORDER BY 1`,
    ).finally(() => database.drop());
    expect(found.map(({ type }) => type as unknown)).toEqual(ALL);
  });

  it.each(['.env.example', 'docs/configuration.md', 'deploy/compose.yaml'])(
    'has a contract in %s',
    (file) => {
      const lines = readFileSync(join(__dirname, '../..', file), 'utf8').split('\n');
      const line = lines.find((each) => /\bPOOL_CONTRACTS\b.*=0x/.test(each)) ?? '';
      expect([...line.matchAll(/(\w+)=0x/g)].map(([, type]) => type).sort()).toEqual(ALL);
    },
  );
});
