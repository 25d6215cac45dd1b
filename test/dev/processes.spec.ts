import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { commandOf } from '#dev/processes';
import { FROM_SOURCE } from '../support/processes/source';

it('a program ends with the process that has forked it, even if that is killed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mortal-'));
  const program = join(folder, 'program.js');
  writeFileSync(program, 'setTimeout(() => undefined, 60_000); console.log("up")');
  const parent = `const child = require('./src/dev/processes').forkMortal('${program}', []);
    child.stdout.once('data', () => { console.log(child.pid); process.kill(process.pid, 'SIGKILL'); });`;
  const { stdout } = spawnSync(process.execPath, [...FROM_SOURCE, '-e', parent], {
    cwd: join(__dirname, '../..'),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  rmSync(folder, { recursive: true });
  expect(stdout).toMatch(/^\d+\n$/);
  const end = Date.now() + 10_000;
  while (commandOf(Number(stdout)) !== '' && Date.now() < end) await wait(20);
  expect(commandOf(Number(stdout))).toBe('');
});
