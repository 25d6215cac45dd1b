import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import ts from 'typescript';

const root = join(__dirname, '..');
const src = join(root, 'src');
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
const folderOf = (file: string): string => file.split('/')[0];

/** By folder of src, the other folders that its files import, types too, each with an example. */
function importsByFolder(): Map<string, Map<string, string>> {
  const graph = new Map<string, Map<string, string>>();
  for (const file of files.filter((each) => each.includes('/'))) {
    const imports = graph.get(folderOf(file)) ?? new Map<string, string>();
    graph.set(folderOf(file), imports);
    const { importedFiles } = ts.preProcessFile(readFileSync(join(src, file), 'utf8'), true, true);
    for (const { fileName } of importedFiles) {
      if (!fileName.startsWith('.')) continue;
      const target = relative(src, normalize(join(src, dirname(file), fileName)));
      if (target.includes('/') && !target.startsWith('..') && folderOf(target) !== folderOf(file))
        imports.set(folderOf(target), `${file} imports ${target}`);
    }
  }
  return graph;
}

/** At least one cycle of folders where there are any, as the imports that make it. */
function cycles(graph: Map<string, Map<string, string>>): string[][] {
  const found: string[][] = [];
  const done = new Set<string>();
  const walk = (folder: string, path: string[], examples: string[]): void => {
    if (path.includes(folder)) found.push(examples.slice(path.indexOf(folder)));
    if (path.includes(folder) || done.has(folder)) return;
    for (const [next, example] of graph.get(folder) ?? [])
      walk(next, [...path, folder], [...examples, example]);
    done.add(folder);
  };
  for (const folder of graph.keys()) walk(folder, [], []);
  return found;
}

/** Folders whose imports of each other are not ordered: every feature may build on all of them. */
const FOUNDATION = ['common', 'config', 'database', 'chain', 'rate-limit', 'openapi', 'outbox'];
const features = (): Map<string, Map<string, string>> =>
  new Map(
    [...importsByFolder()]
      .filter(([folder]) => !FOUNDATION.includes(folder))
      .map(([folder, imports]) => [
        folder,
        new Map([...imports].filter(([target]) => !FOUNDATION.includes(target))),
      ]),
  );

describe('features', () => {
  it('depend on each other without cycles', () => {
    const graph = features();
    expect([...graph.get('transactions')!.keys()]).toContain('pools');
    expect(cycles(graph)).toEqual([]);
  });

  it('would be found in a cycle, however long', () => {
    const edges = (...names: string[]) => new Map(names.map((name) => [name, `to ${name}`]));
    const graph = new Map([
      ['a', edges('b')],
      ['b', edges('c', 'd')],
      ['c', edges('d')],
      ['d', edges('b')],
    ]);
    expect(cycles(graph)).toEqual([['to c', 'to d', 'to b']]);
  });

  it('write no table of another, and read only those of features that they depend on', () => {
    const owners = new Map<string, string>();
    for (const file of files.filter((each) => each.endsWith('.entity.ts'))) {
      const [, table] = /@Entity\('(\w+)'/.exec(readFileSync(join(src, file), 'utf8'))!;
      owners.set(table, folderOf(file));
    }
    expect(owners.get('pools')).toBe('pools');
    const graph = features();
    const faults: string[] = [];
    for (const file of files.filter((each) => graph.has(folderOf(each)))) {
      // The indexer writes the ledger, and the verification reads everything.
      if (/^(indexer|verify|local)\//.test(file)) continue;
      const text = readFileSync(join(src, file), 'utf8');
      for (const [, verb, table] of text.matchAll(
        /\b(FROM|JOIN|INSERT INTO|UPDATE|DELETE FROM)\s+(?:ONLY\s+)?([a-z_]+)/g,
      )) {
        const owner = owners.get(table);
        if (!owner || owner === folderOf(file)) continue;
        const reads = verb === 'FROM' || verb === 'JOIN';
        if (!reads || !graph.get(folderOf(file))!.has(owner)) faults.push(`${file}: ${verb} ${table}`);
      }
    }
    expect(faults).toEqual([]);
  });
});

describe('ESLint', () => {
  const ALLOWED = [
    '../common/errors',
    '../openapi/api-docs',
    '../auth/auth.guard',
    '../auth/current-user',
    '../auth/session-watch',
    '../pools/pool.entity',
    '../pools/pools.sql',
    '../pools/pools.module',
    '../pools/pools.service',
    './lottery.dto',
  ];
  const REFUSED = [
    '../pools/pools.dto',
    '../pools/pools.controller',
    '../pools/expired-answers',
    '../auth/sessions',
    '../auth/pools.service',
    '../indexer/draws.sql',
    '../indexer/indexer.module',
    '../verify/pools.sql',
    '../local/settings',
  ];

  it('lets a feature import what others export, and nothing else of them', () => {
    const lines = [...ALLOWED, ...REFUSED].map((path) => `import '${path}';`);
    // Only the rule itself: the others need the types of the whole program, which takes long.
    const script = `
      import { ESLint, Linter } from 'eslint';
      const { rules } = await new ESLint().calculateConfigForFile('src/lottery/lottery.service.ts');
      const config = { rules: { 'no-restricted-imports': rules['no-restricted-imports'] } };
      const messages = new Linter().verify(${JSON.stringify(lines.join('\n'))}, [config]);
      process.stdout.write(JSON.stringify(messages.map(({ line }) => line)));`;
    const args = ['--input-type=module', '-e', script];
    const refused = JSON.parse(
      execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' }),
    ) as number[];
    expect(refused.map((line) => lines[line - 1])).toEqual(REFUSED.map((path) => `import '${path}';`));
  }, 60_000);
});
