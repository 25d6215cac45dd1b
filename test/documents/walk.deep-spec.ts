import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { useApp } from '../support/app';

const ROOT = path.join(__dirname, '../..');
const WALK = readFileSync(path.join(ROOT, 'docs/walk.md'), 'utf8').split('\n## ')[0];

/** A command of the walk, and the answer that is printed below it. */
const STEPS = [...WALK.matchAll(/```sh\n([\s\S]*?)```\s*(?:```json\n([\s\S]*?)```)?/g)].map(
  ([, command, answer]) => ({ command, answer }),
);

const app = useApp();

/** The names of the fields, however deep, and what is no text: amounts, ids and times differ. */
const shapeOf = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(shapeOf)
    : value !== null && typeof value === 'object'
      ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shapeOf(each)]))
      : typeof value;

it('its requests work as printed, and are answered in the form that it shows', async () => {
  await app.listen();
  // The first connection to the database may take longer than a request.
  await app.nonce();
  const answered = STEPS.filter(({ answer }) => answer !== undefined);
  expect(answered).toHaveLength(4);
  // The rest, with a webhook, runs until it is stopped: `webhook-example.deep-spec.ts` runs it.
  const script = answered.map(({ command }) => `${command}\necho; echo ---`).join('\n');
  const { stdout } = await promisify(execFile)('bash', ['-e', '-c', script], {
    cwd: ROOT,
    env: { ...process.env, PORT: String(app.port) },
  });
  const answers = stdout.split('---\n').slice(0, -1);
  expect(answers.map((text) => shapeOf(JSON.parse(text)))).toEqual(
    answered.map(({ answer }) => shapeOf(JSON.parse(answer))),
  );
});
