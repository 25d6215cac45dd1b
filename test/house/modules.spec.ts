import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';

const root = join(__dirname, '../..');
const src = join(root, 'src');
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
const read = (file: string): string => readFileSync(join(src, file), 'utf8');

/** From the ground up. The entries stand on top. */
const LAYERS = [
  'values',
  'platform',
  'ledger',
  'features',
  'settings',
  'extensions',
  'verify',
  'indexer',
  'keeper',
  'api',
  'dev',
] as const;
type Layer = (typeof LAYERS)[number];

/** A room is a folder, at any depth, or an entry. */
const roomOf = (file: string): string => (file.includes('/') ? dirname(file) : file);
const layerOf = (file: string): number =>
  file.includes('/') ? LAYERS.indexOf(file.split('/')[0] as Layer) : LAYERS.length;

interface Import {
  file: string;
  /** The imported file, without its ending. */
  target: string;
}

/** Every import of one file of src by another, types too. */
const imports: Import[] = files.flatMap((file) => {
  const { importedFiles } = ts.preProcessFile(read(file), true, true);
  return importedFiles.flatMap(({ fileName }) => {
    if (fileName.startsWith('#')) return [{ file, target: fileName.slice(1) }];
    if (!fileName.startsWith('.')) return [];
    const target = join(dirname(file), fileName);
    return target.startsWith('..') ? [] : [{ file, target }];
  });
});

const describeImport = ({ file, target }: Import): string => `${file} imports ${target}`;

/** By room, the other rooms that its files import, each with an example. */
function importsByRoom(): Map<string, Map<string, string>> {
  const graph = new Map<string, Map<string, string>>();
  for (const each of imports) {
    const [from, to] = [roomOf(each.file), roomOf(each.target)];
    const targets = graph.get(from) ?? new Map<string, string>();
    graph.set(from, targets);
    if (to !== from) targets.set(to, describeImport(each));
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

describe('the house', () => {
  it('has imports that point down only', () => {
    expect(imports.length).toBeGreaterThan(800);
    expect(files.filter((file) => layerOf(file) < 0)).toEqual([]);
    const up = imports.filter(({ file, target }) => layerOf(target) > layerOf(file));
    expect(up.map(describeImport)).toEqual([]);
  });

  it('has features of one flat folder each', () => {
    const misplaced = files.flatMap((file) => {
      const [, feature] = /^features\/([^/]+)\/.+\//.exec(file) ?? [];
      return feature
        ? [`move src/${file} to src/features/${feature}/ (docs/tutorial.md): a feature has no subfolders`]
        : [];
    });
    expect(misplaced).toEqual([]);
  });

  it('has extensions that only the application and other extensions import, so that each can be left out', () => {
    const importers = imports.filter(
      ({ file, target }) => target.startsWith('extensions/') && !file.startsWith('extensions/'),
    );
    expect([...new Set(importers.map(({ file }) => file))]).toEqual(['api/app.module.ts']);
  });

  it('has no knot of rooms', () => expect(cycles(importsByRoom())).toEqual([]));

  it('imports nothing at the ground', () => {
    const outside = /^import .* from '(?!\.\/)/m;
    expect(
      files.filter((file) => /^values\/.*(?<!\.spec)\.ts$/.test(file) && outside.test(read(file))),
    ).toEqual([]);
  });

  it('has a platform that knows no word of the domain, but for the one table of error codes', () => {
    const words =
      /deposit|withdraw|saving|lotter|\bdraws?\b|ticket|prize|winner|wallet|siwe|webhook|\bledger|\bcontracts?\b|token unit|\bpool.?types?\b/i;
    const known = files
      .filter((file) => file.startsWith('platform/') && !file.endsWith('.spec.ts'))
      .filter((file) => words.test(read(file)));
    expect(known).toEqual(['platform/errors/error-codes.ts']);
  });

  it('verifies with code of its own', () => {
    const shared = imports.filter(({ file, target }) => /^verify\//.test(file) && !/^verify\//.test(target));
    expect([...new Set(shared.map(({ target }) => target))].sort()).toEqual([
      'platform/log/redact',
      'values/bytes16',
    ]);
  });
});

/** The room of each table: that of its entity, or of the `*.tables.ts` that names it. */
function ownersOfTables(): Map<string, string> {
  const owners = new Map<string, string>();
  for (const file of files) {
    const text = read(file);
    const names = file.endsWith('.entity.ts')
      ? [...text.matchAll(/@Entity\('(\w+)'/g)].map(([, name]) => name)
      : file.endsWith('.tables.ts')
        ? [...text.matchAll(/'(\w+)'/g)].map(([, name]) => name)
        : [];
    for (const name of names) {
      if (owners.has(name))
        throw new Error(`${name} has two owners: ${owners.get(name)} and ${roomOf(file)}`);
      owners.set(name, roomOf(file));
    }
  }
  return owners;
}

/** Written by hand, and by `migration:generate`. */
const tablesMadeBy = (migration: string): string[] =>
  [...migration.matchAll(/CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?(?:"?public"?\.)?"?(\w+)"?/gi)].map(
    ([, table]) => table,
  );

/** Every mention of a table in a statement of these files, as `file: verb table`. */
const mentionsOf = (file: string): { verb: string; table: string }[] =>
  [
    ...read(file).matchAll(
      /\b(FROM|JOIN|INSERT INTO|UPDATE|DELETE FROM)\s+(?:ONLY\s+)?(?!outbox_xid\b)([a-z_]+)/g,
    ),
  ].map(([, verb, table]) => ({ verb, table }));
const isRead = (verb: string): boolean => verb === 'FROM' || verb === 'JOIN';

/** What is in the database because the chain says so. The indexer writes it, and the features read it. */
const WRITTEN_BY_INDEXER = `accrual_rates chain_blocks chain_contracts chain_contracts_apart chain_cursor
  chain_events chain_facts chain_proofs chain_tokens lottery_draws lottery_tickets pool_names pool_weights
  positions share_holdings share_prices submissions transactions yield_accruals`.split(/\s+/);

/** Sums that a replay corrects together with their rows: else only triggers and a repair write them. */
const KEPT_BY_TRIGGERS = ['pools'];

describe('tables', () => {
  const owners = ownersOfTables();

  it('each have one room that names them', () => {
    const migrations = readdirSync(join(root, 'migrations'), { recursive: true, encoding: 'utf8' });
    const texts = migrations
      .filter((file) => /\.(ts|sql)$/.test(file))
      .map((file) => readFileSync(join(root, 'migrations', file), 'utf8'));
    const tables = texts.flatMap(tablesMadeBy);
    expect(tables.length).toBeGreaterThanOrEqual(29);
    expect([...owners.keys()].sort()).toEqual(tables.sort());
  });

  it('of the baseline, and of what is no feature, are restricted in migrations/privileges.sql', () => {
    const read = (file: string): string => readFileSync(join(root, 'migrations', file), 'utf8');
    const right = `(?:rows|'[^']*')`;
    const row = new RegExp(`^ +\\('([\\w ]+)', ${right}, ${right}, '[^']*'\\)`, 'gm');
    const listed = [...read('privileges.sql').matchAll(row)].flatMap(([, names]) => names.split(' '));
    const baseline = readdirSync(join(root, 'migrations/1767225600000-baseline'))
      .flatMap((file) => [
        ...read(`1767225600000-baseline/${file}`).matchAll(/^CREATE (?:UNLOGGED )?(?:TABLE|VIEW) (\w+)/gm),
      ])
      .map(([, name]) => name);
    const others = [...owners]
      .filter(([, room]) => !/^(features|extensions)\//.test(room))
      .map(([table]) => table);
    expect([...baseline, ...others].filter((table) => !listed.includes(table))).toEqual([]);
    const known = [...baseline, ...owners.keys(), 'migrations'];
    expect(listed.filter((table) => !known.includes(table))).toEqual([]);
  });

  it('are written by their own room, and read by rooms that depend on it', () => {
    const graph = importsByRoom();
    const faults: string[] = [];
    for (const file of files.filter((each) => /^(ledger|features|extensions)\//.test(each)))
      for (const { verb, table } of mentionsOf(file)) {
        const owner = owners.get(table);
        if (!owner || owner === roomOf(file)) continue;
        if (!isRead(verb) || !graph.get(roomOf(file))!.has(owner)) faults.push(`${file}: ${verb} ${table}`);
      }
    expect(faults).toEqual([]);
  });

  it('of other rooms are written by the indexer only if they hold what the chain says, or by a replay', () => {
    const written = (isReplay: boolean): string[] => {
      const tables = files
        .filter((file) => file.startsWith('indexer/') && file.startsWith('indexer/replaying/') === isReplay)
        .flatMap(mentionsOf)
        .filter(({ verb, table }) => !isRead(verb) && owners.has(table))
        .map(({ table }) => table)
        .filter((table) => !/^indexer(\/|$)/.test(owners.get(table)!));
      return [...new Set(tables)].sort();
    };
    expect(written(false)).toEqual(WRITTEN_BY_INDEXER);
    expect(written(true).filter((table) => !WRITTEN_BY_INDEXER.includes(table))).toEqual(KEPT_BY_TRIGGERS);
  });
});

describe('ESLint', () => {
  const ALLOWED = `#values/types #platform/errors/errors #platform/openapi/api-docs
    #ledger/outbox/ledger-event #features/access/auth.guard #features/access/current-user
    #features/access/sessions #features/access/lifetimes
    #features/pools/pool.entity #features/pools/pools.sql #features/pools/pools.settings
    #features/pools/pools.module #features/pools/pools.service ./lottery.dto`.split(/\s+/);
  const REFUSED = `../../platform/errors/errors ../pools/pools.service #features/pools/pools.dto
    #features/pools/pools.controller #extensions/events/events.sql #features/access/session-feed
    #features/access/pools.service #settings/environment #indexer/ledger/draws #indexer/indexer.module
    #verify/checks/derived.sql #api/app.module #dev/settings`.split(/\s+/);

  it('lets a feature import what others export, and nothing else of them', () => {
    const lines = [...ALLOWED, ...REFUSED].map((path) => `import '${path}';`);
    // Only the rule itself: the others need the types of the whole program, which takes long.
    const script = `
      import { ESLint, Linter } from 'eslint';
      const file = 'src/features/lottery/lottery.service.ts';
      const { rules, plugins: { rooms } } = await new ESLint().calculateConfigForFile(file);
      const { 'no-restricted-imports': restricted, 'rooms/imports': imports } = rules;
      const config = {
        files: ['**/*.ts'],
        plugins: { rooms },
        rules: { 'no-restricted-imports': restricted, 'rooms/imports': imports },
      };
      const text = ${JSON.stringify(lines.join('\n'))};
      const refused = new Linter().verify(text, [config], file).map(({ line }) => line);
      const fixed = new Linter().verifyAndFix(text, [config], file).output.split('\\n');
      process.stdout.write(JSON.stringify({ refused, fixed }));`;
    const args = ['--input-type=module', '-e', script];
    const { refused, fixed } = JSON.parse(
      execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' }),
    ) as { refused: number[]; fixed: string[] };
    expect(refused.map((line) => lines[line - 1])).toEqual(REFUSED.map((path) => `import '${path}';`));
    const changed = fixed.filter((line, at) => line !== lines[at]);
    expect(changed).toEqual(["import '#platform/errors/errors';", "import '#features/pools/pools.service';"]);
  });
});
