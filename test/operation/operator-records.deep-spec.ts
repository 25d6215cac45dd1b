import { readRecords } from '#platform/operating/records';
import { CONTRACTS, asSetting, until, useApp } from '../support/app';
import { emptyDatabase } from '../support/database';
import { command } from '../support/processes/source';

describe('commands of operators', () => {
  const app = useApp();
  const run = (entry: string, args: string[], url = app.database.url) =>
    command(entry, args, {
      DATABASE_URL: url,
      RPC_URL: 'http://127.0.0.1:9',
      POOL_CONTRACTS: asSetting(CONTRACTS),
      OPERATOR: 'Ada',
    });

  it('leave a record if they change something, and one lists the records', async () => {
    await run('verify.ts', ['--no-chain']);
    await run('verify.ts', ['--repair', '--no-chain']);
    await run('indexer.ts', ['replay']);
    await expect(run('indexer.ts', ['rewind', '--to', '5'])).rejects.toThrow();
    const { stdout } = await run('indexer.ts', ['records', '--json']);
    const by = { person: 'Ada', endedAt: expect.any(String) as string };
    expect(JSON.parse(stdout)).toEqual([
      expect.objectContaining({ ...by, command: 'rewind', arguments: '--to 5', outcome: 'failed' }),
      expect.objectContaining({ ...by, command: 'replay', outcome: 'done' }),
      expect.objectContaining({
        ...by,
        command: 'verify --repair',
        arguments: '--no-chain',
        result: expect.objectContaining({ repaired: 0 }) as object,
      }),
    ]);
  });

  it('export and delete a person by address, with a record of each', async () => {
    const user = await app.signIn();
    const { id } = await app.createPool(user);
    const { stdout } = await run('extensions/people/command.ts', ['export', user.wallet.address]);
    const lines = stdout.trim().split('\n');
    const exported = await app.get('/users/me/export?limit=500', user);
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual(exported.body.data);
    expect(stdout).toContain(id);
    const deleted = await run('extensions/people/command.ts', ['delete', user.wallet.address]);
    expect(deleted.stdout).toBe(`${user.address}: deleted, but for its pools in the ledger\n`);
    // Another process has ended the session: this one hears of it.
    await until(async () => (await app.get('/users/me', user)).status === 401);
    expect(await readRecords(app.database.url, 2)).toEqual([
      expect.objectContaining({ command: 'people delete', arguments: user.address }),
      expect.objectContaining({ command: 'people export', result: { rows: lines.length } }),
    ]);
  });

  it('say when a deletion is not complete', async () => {
    const user = await app.signIn();
    await app.sql(`
      CREATE FUNCTION later() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN NEW.waits_until := ''infinity''; RETURN NEW; END';
      CREATE TRIGGER later BEFORE INSERT ON account_deletions FOR EACH ROW EXECUTE FUNCTION later()`);
    const { stdout } = await run('extensions/people/command.ts', ['delete', user.address]);
    await app.sql('DROP FUNCTION later CASCADE');
    expect(stdout).toContain('being deleted: it waits for the indexer');
    const [record] = await readRecords(app.database.url, 1);
    expect(record.result).toMatchObject({ isComplete: false });
  });

  it('are recorded for migrate.js, except for the first migration and when there is none to run', async () => {
    const database = await emptyDatabase();
    try {
      for (const command of ['run', 'run', 'roles']) await run('migrate.ts', [command], database.url);
      expect(await readRecords(database.url, 10)).toEqual([
        expect.objectContaining({ command: 'migrate roles', person: 'Ada', outcome: 'done' }),
      ]);
    } finally {
      await database.drop();
    }
  });
});
