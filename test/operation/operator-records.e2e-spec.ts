import { type OperatorRecord, readRecords, recorded, recordsTable } from '#platform/operating/records';
import { REMOVE_OLD_RECORDS } from '#platform/operating/records.sql';
import { Database } from '#platform/database/database';
import { until, useApp } from '../support/app';

describe('records of operators', () => {
  const app = useApp();
  const newest = async (): Promise<OperatorRecord> => (await readRecords(app.database.url, 1))[0];

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

  it('are listed as a table', async () => {
    expect(recordsTable([await newest()])).toMatch(/\tdone\tAda\t\S+\trewind\t--to 7\t\{/);
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
});
