import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const ROOT = path.join(__dirname, '..');

/**
 * Tests that look at every table, endpoint, topic, error or document, so that an addition which forgets something breaks
 * them. The copy runs these, the tests that recipes bring or edit, and those beside the code that they edit.
 */
export const CHECK_ALL = [
  'src/(settings|ledger|platform/(answers|errors|openapi))/',
  'test/(documents|house|idioms|schema)/',
  'test/verify/verify\\.e2e',
  'test/operation/(people|metric-names|operator-records)',
  'test/events/event-(readers|schemas)',
  'test/http/(error-codes|http)',
  'test/client/(follow|package|reads)',
  'test/validation/hostile-input',
  'test/pools/(auto-compound|pool-types|pools-(create|read)|start)',
  'test/indexer/(indexer-module|contracts/(account-savings|contract-kinds))',
];
/** The copy is no repository of git, and these are about the repository before. */
const ABOUT_REPOSITORY = '/test/(house/(recipe|ci)|documents/links|deploy/release)';

const RECIPES = path.join(ROOT, 'docs/recipes');

/** What a recipe says to do. */
export interface Recipe {
  name: string;
  /** Contents by path. */
  files: Map<string, string>;
  edits: { file: string; before: string[]; after: string[] }[];
  commands: string[];
}

/** All recipes with files, in the order of their index: some build upon those before them. */
export function readRecipes(): Recipe[] {
  const index = readFileSync(path.join(RECIPES, 'README.md'), 'utf8');
  const listed = [...index.matchAll(/^\|.*\]\(([./\w-]+\.md)\)/gm)].map(([, name]) => name);
  const missing = readdirSync(RECIPES).filter((name) => name !== 'README.md' && !listed.includes(name));
  if (missing.length > 0) throw new Error(`not in docs/recipes/README.md: ${missing.join(', ')}`);
  return listed
    .map((name) => readRecipe(path.basename(name), readFileSync(path.join(RECIPES, name), 'utf8')))
    .filter(({ files }) => files.size > 0);
}

/**
 * Reads a recipe: a path in bold names the file of the code blocks that follow it. A `ts` or `sql` block is the whole
 * file, a `diff` block an edit of an existing one, a `sh` block holds commands, `console` commands of people.
 */
export function readRecipe(name: string, markdown: string): Recipe {
  const recipe: Recipe = { name, files: new Map(), edits: [], commands: [] };
  let file = '';
  for (const { groups } of markdown.matchAll(
    /\*\*`(?<path>[^`]+)`\*\*|^(?<indent> *)```(?<language>\w+)\n(?<block>.*?)^ *```$/gms,
  )) {
    const { path: named, indent, language, block } = groups as Record<string, string | undefined>;
    if (named) {
      file = named;
      continue;
    }
    const text = block!.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
    const lines = text.trimEnd().split('\n');
    if ((language === 'ts' || language === 'sql') && !recipe.files.has(file)) recipe.files.set(file, text);
    else if (language === 'sh') recipe.commands.push(...lines);
    else if (language === 'diff')
      recipe.edits.push({ file, before: withMark(lines, ' -'), after: withMark(lines, ' +') });
    else if (language !== 'console')
      throw new Error(`${name}: a second file or an unknown language: ${language} after ${file}`);
  }
  return recipe;
}

const withMark = (lines: string[], marks: string): string[] =>
  lines.filter(([mark]) => marks.includes(mark)).map((line) => line.slice(1));

/** @throws Error when the lines before the edit are not in the text exactly once; the width of table cells is ignored */
export function applyEdit(text: string, { file, before, after }: Recipe['edits'][number]): string {
  const lines = text.split('\n');
  const same = (line: string | undefined, wanted: string): boolean =>
    line === wanted || (wanted.startsWith('|') && squeeze(line) === squeeze(wanted));
  const places = lines
    .map((_, at) => at)
    .filter((at) => before.every((each, i) => same(lines[at + i], each)));
  if (places.length !== 1)
    throw new Error(`${file}: the lines to edit were found ${places.length} times:\n${before.join('\n')}`);
  lines.splice(places[0], before.length, ...after);
  return lines.join('\n');
}

/** The files that a recipe makes or edits. */
export const filesOf = ({ files, edits }: Recipe): string[] => [
  ...files.keys(),
  ...edits.map(({ file }) => file),
];

const squeeze = (line = ''): string => line.replaceAll(/ +/g, ' ');

/** Carries a recipe out in a folder that holds the repository. @throws Error when a step cannot be done as it says */
export function applyRecipe({ files, edits }: Recipe, root: string): void {
  for (const [file, text] of files) {
    const target = path.join(root, file);
    if (existsSync(target)) throw new Error(`${file} exists already`);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, text);
    const [last] = readdirSync(path.dirname(target))
      .filter((name) => /^\d/.test(name))
      .sort()
      .reverse();
    if (/^migrations\/\d/.test(file) && last !== path.basename(file))
      throw new Error(`${file} must have a timestamp above ${last}`);
  }
  for (const edit of edits) {
    const target = path.join(root, edit.file);
    writeFileSync(target, applyEdit(readFileSync(target, 'utf8'), edit));
  }
}

/** The files that are committed or would be, with the installed packages. */
export function copyRepository(): string {
  const copy = mkdtempSync(path.join(tmpdir(), 'copy-'));
  // PostgreSQL runs as another user when the tests run as root.
  chmodSync(copy, 0o755);
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  for (const file of files.split('\0').filter((each) => each && existsSync(path.join(ROOT, each))))
    cpSync(path.join(ROOT, file), path.join(copy, file));
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(copy, 'node_modules'));
  return copy;
}

/** The tests that a recipe brings, edits, or that stand beside code that it edits. */
export const testsOf = (recipe: Recipe): string[] =>
  filesOf(recipe)
    .map((file) => (file.startsWith('src/') ? file.replace(/(?<!spec)\.ts$/, '.spec.ts') : file))
    .filter((file) => /spec\.ts$/.test(file));

/**
 * Follows all recipes in one copy, checks what they made, and runs the tests there. Arguments are those of jest. Every
 * step runs even if one before it failed.
 */
async function main(args: string[]): Promise<boolean> {
  const recipes = readRecipes();
  const copy = copyRepository();
  let good = true;
  const run = async (command: string, ...more: string[]): Promise<void> => {
    console.log(`--- ${command}`);
    const words = [command, ...more.map((each) => `'${each}'`)].join(' ');
    const child = spawn(words, { cwd: copy, stdio: 'inherit', shell: true });
    const [code] = (await once(child, 'close')) as [number | null];
    if (code === 0) return;
    console.log(`--- failed: ${command}`);
    good = false;
  };
  try {
    for (const recipe of recipes) applyRecipe(recipe, copy);
    for (const command of new Set(recipes.flatMap(({ commands }) => commands))) await run(command);
    const touched = [...new Set(recipes.flatMap(filesOf))];
    await Promise.all([
      run(`npx prettier --check --ignore-unknown ${touched.join(' ')}`),
      run(`npx eslint ${touched.filter((file) => file.endsWith('.ts')).join(' ')}`),
      run('npm run typecheck'),
    ]);
    const tests = [...new Set([...CHECK_ALL, ...recipes.flatMap(testsOf)])];
    // The option last: it takes all words behind it.
    await run('npx jest', ...tests, ...args, `--testPathIgnorePatterns=${ABOUT_REPOSITORY}`);
    return good;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

if (require.main === module) void main(process.argv.slice(2)).then((good) => process.exit(good ? 0 : 1));
