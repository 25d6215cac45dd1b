import { Body, Controller, Module, Patch, Post } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Database } from '#platform/database/database';
import { statement } from '#platform/postgres/statement';
import { Public } from '#features/access/auth.guard';
import { TestApp, useApp } from '../support/app';

interface Goal {
  name: string | null;
  due: string;
}

const SAVE_GOAL = statement<{ name: string | null; due: string }, never>(
  'save_goal_of_test',
  { name: 'text', due: 'text' },
  'INSERT INTO goals (name, due) VALUES (:name, :due::date)',
);

/** As a module whose rules let everything through. */
@Controller('goals')
class GoalsController {
  constructor(
    private readonly source: DataSource,
    private readonly database: Database,
  ) {}

  @Public()
  @Patch()
  async byQuery(@Body() { name, due }: Goal): Promise<string> {
    await this.source.query('UPDATE "goals" SET name = $1, due = $2::text::date', [name, due]);
    return 'done';
  }

  @Public()
  @Post()
  async byStatement(@Body() goal: Goal): Promise<string> {
    await this.database.write(SAVE_GOAL, goal);
    return 'done';
  }

  @Public()
  @Post('ledger')
  async ofLedger(@Body() { text }: { text: string }): Promise<string> {
    await this.source.query(text);
    return 'done';
  }
}

@Module({ controllers: [GoalsController] })
class GoalsModule {}

const app = useApp({}, { modules: [GoalsModule] });
beforeAll(() =>
  app.sql(`
    CREATE TABLE goals (name text NOT NULL, due date, CHECK (length(name) < 10));
    GRANT SELECT, INSERT, UPDATE ON goals TO savings_api;
    INSERT INTO goals VALUES ('first', now());
    CREATE FUNCTION goal_of_ledger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM ''x''::int; RETURN NEW; END';`),
);

/** Not by `app.send`: the document says nothing of these operations. */
async function send(method: 'PATCH' | 'POST', url: string, payload: object, to: TestApp = app) {
  const { statusCode, json } = await to.nest.inject({ method, url, payload });
  return { status: statusCode, body: json<Record<string, unknown>>() };
}
const validationFailed = (field: string) => ({
  status: 400,
  body: expect.objectContaining({ code: 'validation_failed', details: [expect.objectContaining({ field })] }),
});

describe.each(['PATCH', 'POST'] as const)('input that the rules of a module let through, by %s', (method) => {
  it.each([
    [{ name: null, due: '2027-02-28' }, 'name'],
    [{ name: 'far too long a name', due: '2027-02-28' }, 'request'],
    [{ name: 'date', due: '2027-02-30' }, 'request'],
    [{ name: 'date', due: 'x' }, 'request'],
  ])('is 400 if its table refuses it: %j', async (goal, field) =>
    expect(await send(method, '/goals', goal)).toMatchObject(validationFailed(field)),
  );

  it('is stored if its table takes it', async () =>
    expect((await send(method, '/goals', { name: 'second', due: '2027-02-28' })).status).toBeLessThan(300));
});

describe('what is no fault of the request', () => {
  it.each([
    'UPDATE pools SET auto_compound = NULL',
    `INSERT INTO goals SELECT address::int::text FROM users`,
    `UPDATE users SET address = 'x'`,
    'SELECT 1 / 0',
  ])('stays a 500: %s', async (text) => {
    await app.createPool(await app.signIn());
    expect(await send('POST', '/goals/ledger', { text })).toMatchObject({
      status: 500,
      body: { code: 'internal_error' },
    });
  });

  it('stays a 500 where a function refuses it', async () => {
    await app.sql(
      'CREATE TRIGGER goal_of_ledger BEFORE INSERT ON goals FOR EACH ROW EXECUTE FUNCTION goal_of_ledger()',
    );
    expect((await send('POST', '/goals', { name: 'third', due: '2027-02-28' })).status).toBe(500);
  });
});

it('an answer 500 tells its reason in development alone', async () => {
  const failing = { text: 'SELECT 1 / 0' };
  expect((await send('POST', '/goals/ledger', failing)).body.reason).toBeUndefined();
  const developer = new TestApp();
  await developer.start({ NODE_ENV: 'development' }, undefined, undefined, { modules: [GoalsModule] });
  try {
    const { status, body } = await send('POST', '/goals/ledger', failing, developer);
    expect([status, body.reason]).toEqual([500, 'division by zero']);
  } finally {
    await developer.stop();
  }
});
