import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { until, useApp } from '../support/app';

const app = useApp({ WEBHOOK_ALLOW_PRIVATE: 'true' });

it('the example takes a test event, and ends its webhook when it is stopped', async () => {
  await app.listen();
  const { token } = await app.signIn();
  const example = spawn(process.execPath, [path.join(__dirname, '../../examples/receiver.mjs')], {
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
