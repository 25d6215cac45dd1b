import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { POOL_TYPES } from '#values/types';
import { type TestDatabase, freshDatabase, migrationSource } from '../support/database';

/** What the compiler cannot see of a new pool type: see `POOL_TYPES`. */
describe('every pool type', () => {
  const ALL = [...POOL_TYPES].sort();

  describe('is known to the database', () => {
    let database: TestDatabase;
    let query: (text: string) => Promise<{ found: string[] }[]>;
    let close: () => Promise<void>;
    beforeAll(async () => {
      database = await freshDatabase();
      const source = await migrationSource(database.url);
      query = (text) => source.query(text);
      close = () => source.destroy();
    });
    afterAll(async () => {
      await close?.();
      await database?.drop();
    });

    it.each([
      [
        'by its domain',
        `SELECT array(SELECT word[1] FROM pg_constraint,
           regexp_matches(pg_get_constraintdef(oid), '''(\\w+)''', 'g') word
         WHERE contypid = 'pool_type'::regtype ORDER BY 1) AS found`,
      ],
    ])('%s', async (_, text) => {
      expect(await query(text)).toEqual([{ found: ALL }]);
    });
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
