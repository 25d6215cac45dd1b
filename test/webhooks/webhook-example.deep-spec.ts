import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { freePort } from '#dev/ports';
import { until, useApp } from '../support/app';

const app = useApp({ WEBHOOK_ALLOW_PRIVATE: 'true' });
const fileOf = (name: string): string => path.join(__dirname, '../../examples', `${name}.mjs`);

it.each(['wallet', 'receiver'])('%s.mjs says what to start when nothing answers', async (name) => {
  const BASE_URL = `http://127.0.0.1:${await freePort()}`;
  const { status, stderr } = spawnSync(process.execPath, [fileOf(name)], {
    env: { ...process.env, BASE_URL },
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([
    1,
    `Nothing answers at ${BASE_URL}: start the service first, with npm start.\n`,
  ]);
});

it('the example takes a test event, and ends its webhook when it is stopped', async () => {
  await app.listen();
  const { token } = await app.signIn();
  const example = spawn(process.execPath, [fileOf('receiver')], {
    env: { ...process.env, BASE_URL: `http://127.0.0.1:${app.port}`, TOKEN: token },
  });
  let printed = '';
  for (const stream of [example.stdout, example.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (printed += text));
  const ended = once(example, 'exit');
  await until(() => printed.includes(`topic: 'test'`) || example.exitCode !== null);
  expect(printed).toMatch(/id: '[0-9a-f-]+',\s+topic: 'test',\s+occurredAt: /);
  expect(await app.sql('SELECT FROM webhooks')).toHaveLength(1);
  example.kill('SIGINT');
  await ended;
  expect(await app.sql('SELECT FROM webhooks')).toEqual([]);
});
