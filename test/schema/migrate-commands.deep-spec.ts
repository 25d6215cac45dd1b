import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type TestDatabase, emptyDatabase } from '../support/database';
import { FROM_SOURCE } from '../support/processes/source';

const run = promisify(execFile);
let made: TestDatabase;
beforeEach(async () => {
  made = await emptyDatabase();
});
afterEach(() => made.drop());

const migrate = (url: string, command: string) =>
  run(process.execPath, [...FROM_SOURCE, 'src/migrate.ts', command], {
    env: { ...process.env, DATABASE_URL: url },
  }).then(
    ({ stderr }) => ({ code: 0, stderr }),
    ({ code, stderr }: { code: number; stderr: string }) => ({ code, stderr }),
  );

it('the commands check before and after, and wait until then', async () => {
  const { url } = made;
  const waiting = migrate(url, 'wait');
  expect(await migrate(url, 'check')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('schema is behind: run the migrations'),
  });
  expect(await migrate(url, 'run')).toMatchObject({ code: 0 });
  expect(await migrate(url, 'check')).toMatchObject({ code: 0 });
  expect(await waiting).toMatchObject({ code: 0 });
  expect(await migrate(url, 'revert all')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('usage'),
  });
});

it('the commands say what is wrong with the database', async () => {
  const url = new URL(made.url);
  url.pathname = '/none';
  expect(await migrate(url.href, 'run')).toEqual({ code: 2, stderr: 'database "none" does not exist\n' });
});
