import { type TestApp, TestApp as App, until, useApp } from '../support/app';
import { BackgroundModule, Rounds } from '../support/example/background';
import { CommandsModule, Wishes } from '../support/example/commands';
import { ConfigurationModule, Greeter } from '../support/example/configuration';
import { ContextModule } from '../support/example/context';
import { SiteModule } from '../support/example/site';

const MODULES = [BackgroundModule, CommandsModule, ConfigurationModule, ContextModule, SiteModule];
const app = useApp({}, { modules: MODULES });
beforeAll(() => app.listen());

interface Answer {
  status: number;
  type: string | null;
  text: string;
  /** Parsed, when it is JSON. */
  body: any;
}

async function ask(path: string, init: RequestInit = {}, of: TestApp = app): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${of.port}/api/example/${path}`, init);
  const text = await response.text();
  const type = response.headers.get('content-type');
  const body: unknown = type?.startsWith('application/json') ? JSON.parse(text) : undefined;
  return { status: response.status, type, text, body };
}

const post = (path: string, body: unknown): Promise<Answer> =>
  ask(path, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  });

const NOT_FOUND = { success: false, error: 'Not found', message: 'Not found', code: 'not_found' };

describe('nestjs-cls', () => {
  it('gives each request a context of its own, which services read', async () => {
    const tenants = ['ada', 'bob', 'eve'];
    const answers = await Promise.all(
      tenants.map((tenant) => ask('context', { headers: { 'x-tenant': tenant } })),
    );
    expect(answers.map(({ body }) => body.data)).toEqual(
      tenants.map((tenant) => ({ tenant, isActive: true })),
    );
    expect((await ask('context')).body.data).toEqual({ isActive: true });
  });
});

describe('@nestjs/serve-static', () => {
  it('serves a folder beside the API', async () => {
    for (const path of ['site/', 'site/index.html', 'site/a/view/of/the/page']) {
      const page = await ask(path);
      expect([page.status, page.type, page.text]).toEqual([
        200,
        expect.stringContaining('text/html'),
        expect.stringContaining('<title>Savings</title>'),
      ]);
    }
    expect(await ask('site/site.css')).toMatchObject({
      status: 200,
      type: expect.stringContaining('text/css'),
    });
  });

  it('unknown paths of the API keep the form of errors', async () => {
    for (const path of ['nothing', 'sites', 'site/../nothing.css'])
      expect([path, (await ask(path)).body]).toEqual([path, NOT_FOUND]);
  });
});

describe('@nestjs/cqrs', () => {
  it('runs the handlers of commands, queries and events', async () => {
    const made = await post('wishes', { text: 'a boat' });
    expect([made.status, made.body]).toEqual([201, { success: true, data: { id: 0 } }]);
    expect((await ask('wishes/0')).body.data).toEqual({ text: 'a boat' });
    await until(() => app.nest.get(Wishes, { strict: false }).told.includes('a boat'));
  });

  it('what a handler throws has the form of errors, and rules hold', async () => {
    const missing = await ask('wishes/7');
    expect([missing.status, missing.body]).toEqual([
      404,
      { success: false, error: 'No such wish', message: 'No such wish', code: 'not_found' },
    ]);
    expect((await post('wishes', { text: 7 })).status).toBe(400);
  });
});

it('@nestjs/event-emitter calls the methods with @OnEvent', async () => {
  expect((await post('bell', {})).body.data).toBe(true);
  expect(app.nest.get(Rounds, { strict: false }).heard).toEqual([{ times: 1 }]);
});

describe('@nestjs/schedule', () => {
  it('runs @Cron and @Interval', async () => {
    const rounds = app.nest.get(Rounds, { strict: false });
    await until(() => rounds.seconds > 0 && rounds.intervals > 1);
  });

  it('runs nothing more once the application is closed', async () => {
    const other = await new App().start({}, undefined, undefined, { modules: [BackgroundModule] });
    const rounds = other.nest.get(Rounds, { strict: false });
    await until(() => rounds.seconds > 0 && rounds.intervals > 1);
    await other.stop();
    const { seconds, intervals } = rounds;
    await new Promise((resolve) => setTimeout(resolve, 1100));
    expect([rounds.seconds, rounds.intervals]).toEqual([seconds, intervals]);
  });
});

it('@nestjs/config and the settings of the service are injected side by side', () => {
  const { MIN_DEPOSIT } = app.environment;
  expect(app.nest.get(Greeter, { strict: false }).greet()).toBe(`hello, from ${MIN_DEPOSIT} on`);
});
