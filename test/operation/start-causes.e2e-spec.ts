import pino from 'pino';
import { createApp } from '#api/app.setup';
import { settings } from '../support/app';
import { emptyDatabase, freshDatabase, query } from '../support/database';

describe('the API says why it cannot start, and does not try again what stays wrong', () => {
  it.each<[string, (url: URL) => void, RegExp]>([
    [
      'a wrong password',
      (url) => (url.password = 'wrong'),
      /^no connection to the database: password authentication failed for user "\w+"$/,
    ],
    [
      'a user that is not there',
      (url) => (url.username = 'nobody'),
      /^no connection to the database: (password authentication failed for user|role) "nobody"/,
    ],
    [
      'a database that is not there',
      (url) => (url.pathname = '/nowhere'),
      /^no connection to the database: database "nowhere" does not exist$/,
    ],
    [
      'a server without TLS',
      (url) => url.searchParams.set('sslmode', 'no-verify'),
      /^no connection to the database: The server does not support SSL connections$/,
    ],
  ])('%s', async (_, change, told) => {
    const database = await emptyDatabase();
    const lines: string[] = [];
    const logger = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) });
    const url = new URL(database.url);
    change(url);
    try {
      await expect(createApp(settings(url.href, { DATABASE_URL: url.href }), logger)).rejects.toThrow(told);
      expect(lines.filter((line) => line.includes('Retrying'))).toEqual([]);
    } finally {
      await database.drop();
    }
  });
});

describe('CHAIN_ID', () => {
  it.each([
    ['5', []],
    ['1', ['CHAIN_ID is 1, but the indexer follows chain 5: sign-in messages of wallets there are refused']],
  ])('is held against the chain that the indexer follows: %s', async (CHAIN_ID, told) => {
    const database = await freshDatabase();
    const lines: string[] = [];
    const logger = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) });
    await query(database.url, 'INSERT INTO chain_facts (chain_id) VALUES (5)');
    const app = await createApp(settings(database.url, { CHAIN_ID }), logger);
    await app.close();
    await database.drop();
    expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual(told);
  });
});
