import pino from 'pino';
import { createApp } from '#api/app.setup';
import { settings } from '../support/app';
import { emptyDatabase } from '../support/database';

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
