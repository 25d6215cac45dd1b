import { execFile } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { copyRepository } from '../../scripts/recipe';

/** Sign-in, pools, transactions, analytics, health, limits and errors, by tests that ask for nothing else. */
const CONTRACT = [
  'test/auth/auth-(sign-in|signature)',
  'test/pools/(analytics|idempotency|pools-(create|read))',
  'test/transactions/(transaction-lists|transactions)\\.e2e',
  'test/operation/health',
  'test/limits/rate-limits\\.e2e',
  'test/http/refused-input',
];
/** In the document, by the first words of their paths. */
const NAMED = /^\/(auth|users|pools|transactions|analytics|lottery|health|metrics)(\/|$)/;

/** For what hangs: both steps take minutes where others run beside them. */
const LIMIT_MS = 900_000;

describe('the service without all of its extensions', () => {
  const copy = copyRepository();
  const run = (...args: string[]): Promise<{ stdout: string }> =>
    promisify(execFile)('npx', args, { cwd: copy, maxBuffer: 2 ** 26 });

  beforeAll(() => {
    rmSync(path.join(copy, 'src/extensions'), { recursive: true });
    const file = path.join(copy, 'src/api/app.module.ts');
    const text = readFileSync(file, 'utf8');
    const names = [...text.matchAll(/^import \{ (\w+) \} from '#extensions\/.*\n/gm)].map(([, name]) => name);
    expect(names.length).toBeGreaterThanOrEqual(8);
    const line = new RegExp(`^import .*'#extensions/.*\n|^ +(?:${names.join('|')}),\n`, 'gm');
    writeFileSync(file, text.replace(line, ''));
  });
  afterAll(() => rmSync(copy, { recursive: true, force: true }));

  it('passes the type check', () => run('tsc', '--noEmit', '-p', 'tsconfig.build.json'), LIMIT_MS);

  it('documents what is left, and nothing else', async () => {
    await run('node', '-C', 'source', '-r', 'ts-node/register/transpile-only', 'src/dev/write-openapi.ts');
    const { paths, webhooks } = JSON.parse(readFileSync(path.join(copy, 'openapi.json'), 'utf8')) as {
      paths: object;
      webhooks?: object;
    };
    expect(webhooks).toBeUndefined();
    expect(Object.keys(paths).length).toBeGreaterThanOrEqual(16);
    expect(Object.keys(paths).filter((each) => !NAMED.test(each))).toEqual([]);
  });

  it('answers as the contract says', () => run('jest', '-w', '2', ...CONTRACT), LIMIT_MS);
});
