import { readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

const ROOT = path.join(__dirname, '../..');
const README = readFileSync(path.join(ROOT, 'client/README.md'), 'utf8');
const EXAMPLES = [...README.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code]) => code);
const EXAMPLE = path.join(ROOT, 'client/example-of-the-readme.ts');

/** What a reader has around the examples. */
const AROUND = `
import type { Payer, WalletProvider } from '@pooled-savings/client';
declare global { interface Window { ethereum: WalletProvider } }
declare const showEverythingAnew: () => Promise<void>;
declare const body: string, request: Request, secret: string;
`;

const PAYING = ['formatAmount', 'isSent', 'parseAmount', 'webPayments', 'webTokens'];

/** The examples of the README in their order, as one page of a reader. @returns what the compiler says */
function compile(examples: string[]): string[] {
  const imports = /^import .*$/gm;
  const taken = examples.flatMap((code) => code.match(imports) ?? []);
  const names = ['isSavingsError', ...PAYING].join(', ');
  const [first, ...others] = examples.map((code) => code.replace(imports, ''));
  const text = [
    AROUND,
    ...taken,
    `import { ${names} } from '@pooled-savings/client';`,
    first,
    ...others.map((code) => `{\n${code}\n}`),
    'export {};',
  ].join('\n');
  const { config } = ts.readConfigFile(path.join(ROOT, 'client/tsconfig.json'), (file) =>
    ts.sys.readFile(file),
  ) as { config: { compilerOptions: object } };
  const { options } = ts.convertCompilerOptionsFromJson(
    {
      ...config.compilerOptions,
      noEmit: true,
      declaration: false,
      declarationMap: false,
      rootDir: ROOT,
      noUnusedLocals: false,
      paths: {
        '@pooled-savings/client': [path.join(ROOT, 'client/src/index.ts')],
        '@pooled-savings/client/*': [path.join(ROOT, 'client/src/*.ts')],
      },
    },
    path.join(ROOT, 'client'),
  );
  const host = ts.createCompilerHost(options);
  const files = { ...host };
  host.fileExists = (file) => file === EXAMPLE || files.fileExists(file);
  host.getSourceFile = (file, ...rest) =>
    file === EXAMPLE ? ts.createSourceFile(file, text, rest[0]) : files.getSourceFile(file, ...rest);
  const program = ts.createProgram([EXAMPLE], options, host);
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}

it('the examples of the README compile, and one more that should not does not', () => {
  expect(EXAMPLES.length).toBeGreaterThanOrEqual(7);
  expect(compile([...EXAMPLES, 'await client.pools.paint(id);'])).toEqual([
    expect.stringContaining("'paint' does not exist"),
  ]);
}, 180_000);
