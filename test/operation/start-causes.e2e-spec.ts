import pino from 'pino';
import { createApp } from '#api/app.setup';
import { settings } from '../support/app';
import { emptyDatabase } from '../support/database';

it('the API says why it cannot start', async () => {
  const database = await emptyDatabase();
  const url = new URL(database.url);
  url.password = 'wrong';
  const logger = pino({ level: 'silent' });
  try {
    await expect(createApp(settings(url.href, { DATABASE_URL: url.href }), logger)).rejects.toThrow(
      /^no connection to the database: password authentication failed for user "\w+"$/,
    );
  } finally {
    await database.drop();
  }
});
