import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type OperatorRecord, readRecords, recorded } from '#platform/operating/records';
import { REMOVE_OLD_RECORDS } from '#platform/operating/records.sql';
import { Database } from '#platform/database/database';
import { CONTRACTS, TestApp, until } from '../support/app';
import { type TestDatabase, emptyDatabase } from '../support/database';

describe('records of operators', () => {
  const app = new TestApp();
  beforeAll(() => app.start());
  afterAll(() => app.stop());
  const newest = async (): Promise<OperatorRecord> => (await readRecords(app.database.url, 1))[0];

  /** A command as an operator runs it. */
  const run = (url: string, entry: string, ...args: string[]): Promise<{ stdout: string; stderr: string }> =>
    promisify(execFile)(
      process.execPath,
      [
        '-C',
        'source',
        '-r',
        require.resolve('../support/processes/typescript'),
        join(__dirname, '../../src', entry),
        ...args,
      ],
      {
        env: {
          PATH: process.env.PATH,
          DATABASE_URL: url,
          RPC_URL: 'http://127.0.0.1:9',
          POOL_CONTRACTS: Object.entries(CONTRACTS)
            .map((pair) => pair.join('='))
            .join(),
          OPERATOR: 'Ada',
        },
      },
    );

  it('say who does what while it runs, and how it ended', async () => {
    const operation = { command: 'rewind', arguments: '--to 7', by: 'Ada' };
    const result = await recorded(
      app.database.url,
      operation,
      async () => {
        // What a killed process leaves.
        expect(await newest()).toMatchObject({ person: 'Ada', endedAt: null, outcome: null, result: null });
        return 3;
      },
      (undone) => ({ undone }),
    );
    expect(result).toBe(3);
    const [{ role }] = await app.sql('SELECT session_user::text AS role');
    expect(await newest()).toEqual({
      ...{
        command: 'rewind',
        arguments: '--to 7',
        person: 'Ada',
        role,
        outcome: 'done',
        result: { undone: 3 },
      },
      id: expect.any(Number) as number,
      begunAt: expect.any(String) as string,
      endedAt: expect.any(String) as string,
    });
  });

  it('say why it failed, without secrets, and by whom if nobody says', async () => {
    const fails = recorded(
      app.database.url,
      { command: 'replay', arguments: '' },
      () => Promise.reject(new Error('lost postgres://u:hidden@db/x')),
      () => ({}),
    );
    await expect(fails).rejects.toThrow('lost');
    expect(await newest()).toMatchObject({
      outcome: 'failed',
      person: expect.stringMatching(/.@./) as string,
      result: { error: 'lost postgres://db' },
    });
  });

  it('nothing is done without one', async () => {
    const work = jest.fn();
    const url = new URL(app.database.url);
    url.pathname = '/none_of_ours';
    await expect(recorded(url.href, { command: 'x', arguments: '' }, work, () => ({}))).rejects.toThrow(
      'exist',
    );
    expect(work).not.toHaveBeenCalled();
  });

  it.each([
    `UPDATE operator_records SET person = 'another'`,
    `UPDATE operator_records SET outcome = 'failed' WHERE ended_at IS NOT NULL`,
    `UPDATE operator_records SET begun_at = begun_at - interval '1 hour' WHERE ended_at IS NULL`,
    'DELETE FROM operator_records',
    'TRUNCATE operator_records',
  ])('stay as they are: %s', async (text) => {
    await app.sql(
      `INSERT INTO operator_records (command, person, begun_at) VALUES ('x', 'Ada', '2020-01-01')`,
    );
    await expect(app.sql(text)).rejects.toThrow('records of operators stay as they are');
  });

  it('go after three years', async () => {
    const count = async (): Promise<number> =>
      (await app.sql<{ n: number }>('SELECT count(*)::int AS n FROM operator_records'))[0].n;
    const before = await count();
    await app.sql(`
      ALTER TABLE operator_records DISABLE TRIGGER keep_operator_records;
      UPDATE operator_records SET begun_at = now() - interval '3 years 1 day'
        WHERE id = (SELECT min(id) FROM operator_records);
      UPDATE operator_records SET begun_at = now() - interval '3 years' + interval '1 day'
        WHERE id = (SELECT min(id) + 1 FROM operator_records);
      ALTER TABLE operator_records ENABLE TRIGGER keep_operator_records`);
    // The service's own sweep may be at it.
    await until(async () => {
      await app.nest.get(Database).write(REMOVE_OLD_RECORDS, { after: null, batch: 10 });
      return (await count()) < before;
    });
    expect(await count()).toBe(before - 1);
  });

  it('are made of events that are to be handled again', async () => {
    await app.sql(
      `INSERT INTO outbox_set_aside (consumer, event_id, event, error) VALUES ('mail', 'e1', '{}', '')`,
    );
    await app.sql(`UPDATE outbox_set_aside SET again = true WHERE event_id = 'e1'`);
    const record = { command: 'retry', arguments: 'mail e1', person: 'by SQL', outcome: 'done' };
    expect(await newest()).toMatchObject(record);
    await app.sql(`UPDATE outbox_set_aside SET error = 'again' WHERE event_id = 'e1'`);
    await app.sql(`DELETE FROM outbox_set_aside`);
    expect(await readRecords(app.database.url, 2)).toEqual([
      expect.objectContaining(record),
      expect.not.objectContaining({ command: 'retry' }),
    ]);
  });

  it('are made by commands, and listed by one', async () => {
    await run(app.database.url, 'verify.ts', '--no-chain');
    expect((await newest()).command).toBe('retry');
    await run(app.database.url, 'verify.ts', '--repair', '--no-chain');
    await run(app.database.url, 'indexer.ts', 'replay');
    const rewinds = run(app.database.url, 'indexer.ts', 'rewind', '--to', '5');
    await expect(rewinds).rejects.toThrow();
    const { stdout } = await run(app.database.url, 'indexer.ts', 'records', '--limit', '3', '--json');
    const by = { person: 'Ada', endedAt: expect.any(String) as string };
    expect(JSON.parse(stdout)).toEqual([
      expect.objectContaining({ ...by, command: 'rewind', arguments: '--to 5', outcome: 'failed' }),
      expect.objectContaining({ ...by, command: 'replay', outcome: 'done' }),
      expect.objectContaining({
        ...by,
        command: 'verify --repair',
        arguments: '--no-chain',
        result: expect.objectContaining({ mended: 0 }) as object,
      }),
    ]);
    const { stdout: table } = await run(app.database.url, 'indexer.ts', 'records');
    expect(table).toMatch(/\tdone\tAda\t\S+\treplay\t-\t\{/);
  });

  it('a rewind may name its contract before or after the block, once', async () => {
    const contract = ['--contract', CONTRACTS.lottery];
    const rewind = (...options: string[]): Promise<unknown> => run('', 'indexer.ts', 'rewind', ...options);
    await expect(rewind(...contract, '--to', '5')).rejects.toThrow('DATABASE_URL is required');
    await expect(rewind('--to', '5', ...contract)).rejects.toThrow('DATABASE_URL is required');
    await expect(rewind(...contract, '--to', '5', ...contract)).rejects.toThrow('usage: indexer');
  });

  it('are made of migrations, if there was one to run', async () => {
    const database: TestDatabase = await emptyDatabase();
    try {
      for (let i = 0; i < 2; i++) await run(database.url, 'migrate.ts');
      expect(await readRecords(database.url, 10)).toEqual([
        expect.objectContaining({ command: 'migrate run', person: 'Ada', outcome: 'done' }),
      ]);
    } finally {
      await database.drop();
    }
  });
});
