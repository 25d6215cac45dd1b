import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(__dirname, '../..');
const CLIENT = join(ROOT, 'client');
const folder = mkdtempSync(join(tmpdir(), 'client-'));
afterAll(() => rmSync(folder, { recursive: true }));

const run = (script: string, ...args: string[]): string =>
  execFileSync(process.execPath, [join(ROOT, 'node_modules', script), ...args], {
    cwd: CLIENT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });

it('src/schema.ts is not stale; if it is: npm run schema -w client', () => {
  const file = join(folder, 'schema.ts');
  run('openapi-typescript/bin/cli.js', '../openapi.json', '--default-non-nullable', 'false', '-o', file);
  expect(readFileSync(join(CLIENT, 'src/schema.ts'), 'utf8')).toBe(readFileSync(file, 'utf8'));
});

it('builds to modules that Node loads as they are, and that need nothing of Node', () => {
  // Beneath the client, so that it finds its dependencies.
  const out = mkdtempSync(join(CLIENT, 'dist-'));
  try {
    run('typescript/bin/tsc', '-p', 'tsconfig.json', '--outDir', out);
    const { exports: entries } = JSON.parse(readFileSync(join(CLIENT, 'package.json'), 'utf8')) as {
      exports: Record<string, Record<string, string>>;
    };
    for (const entry of Object.values(entries['.']))
      expect(existsSync(join(out, entry.replace('./dist/', '')))).toBe(true);
    const script = `import { SavingsClient } from ${JSON.stringify(join(out, 'index.js'))};
      process.stdout.write(typeof new SavingsClient({ baseUrl: 'http://127.0.0.1' }).events);`;
    const answer = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
    });
    expect(answer).toBe('function');
    for (const file of readdirSync(out, { encoding: 'utf8', recursive: true }).filter((name) =>
      name.endsWith('.js'),
    )) {
      const imports = [...readFileSync(join(out, file), 'utf8').matchAll(/from '([^']+)'/g)].map(
        ([, from]) => from,
      );
      for (const from of imports) expect(from).toMatch(/^(\.\.?(\/[\w-]+)+\.js|viem(\/\w+)?|openapi-fetch)$/);
    }
  } finally {
    rmSync(out, { recursive: true });
  }
}, 120_000);
