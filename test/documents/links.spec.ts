import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { filesOf, readRecipes } from '../../scripts/recipe';

const ROOT = path.join(__dirname, '../..');
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .split('\0')
  .filter((file) => file && existsSync(path.join(ROOT, file)));
const documents = files.filter((file) => file.endsWith('.md'));
const made = new Set(readRecipes().flatMap(filesOf));
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
const ofClient = (JSON.parse(read('client/package.json')) as { scripts: Record<string, string> }).scripts;

/** What a heading is called in a link, as GitHub makes it. */
const anchorOf = (heading: string): string =>
  heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
const anchorsOf = (text: string): string[] =>
  [...withoutBlocks(text).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchorOf(heading));
const withoutBlocks = (text: string): string => text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '');

/** Links of a document that lead nowhere. */
function brokenLinks(document: string, text: string): string[] {
  return [...withoutBlocks(text).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link]) => link)
    .filter((link) => {
      if (/^(https?|mailto):/.test(link)) return false;
      const [target, anchor] = link.split('#');
      const file = target ? path.join(path.dirname(document), target) : document;
      if (!existsSync(path.join(ROOT, file))) return true;
      return anchor !== undefined && !anchorsOf(file === document ? text : read(file)).includes(anchor);
    });
}

/** Beginnings of what is a path of this repository when it stands between backticks. */
const FOLDERS =
  /^(?:src|docs|test|deploy|scripts|client|examples|bench|contracts|migrations|queries|platform|features|ledger|indexer|verify|keeper|api|settings|dist\/src)\//;

/** Paths that a document names and that are no file, folder or pattern of some; tests also by their bare names. */
function brokenPaths(document: string, text: string): string[] {
  const named = [...text.matchAll(/`([\w.@*/-]+)`/g)].map(([, name]) => name);
  const places = ['', 'src/', `${path.dirname(document)}/`];
  const specs = named.filter((name) => /^[\w.-]+\.(e2e-|fault-|cluster-|browser-)?spec\.ts$/.test(name));
  const missing = specs.filter((name) => !files.some((file) => path.basename(file) === name));
  const broken = named
    .filter(
      (name) => FOLDERS.test(name) && !name.includes('/.') && /\.\w+$|\/$|\*/.test(name) && !made.has(name),
    )
    .filter((name) => {
      const source = name.replace(/^dist\/(.*)\.js$/, '$1.ts').replace(/^\.\//, '');
      return !places.some((place) => isThere(path.normalize(place + source)));
    });
  return [...broken, ...missing];
}

function isThere(name: string): boolean {
  const pattern = name
    .replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('**', '§')
    .replaceAll('*', '[^/]*')
    .replaceAll('§', '.*');
  const wanted = new RegExp(`^${pattern}${name.endsWith('/') ? '' : '(/|$)'}`);
  return files.some((file) => wanted.test(file));
}

/** Scripts that a document has run and that package.json lacks. */
const brokenScripts = (text: string): string[] =>
  [...text.matchAll(/npm run (?:-s )?([a-z][\w:]*)/g)]
    .map(([, name]) => name)
    .filter((name) => !(name in scripts) && !(name in ofClient));

describe.each(documents)('%s', (document) => {
  const text = read(document);
  it('leads and points only to what is there', () => {
    expect(brokenLinks(document, text)).toEqual([]);
    expect(brokenPaths(document, text)).toEqual([]);
    expect(brokenScripts(text)).toEqual([]);
  });
});

it('a link, an anchor, a path and a script that are not there are found', () => {
  const text =
    'See [a](docs/nope.md), [b](README.md#nope), `src/nope.ts`, `test/no*.md`, `npm run nope`. # x';
  expect(brokenLinks('CONTRIBUTING.md', text)).toEqual(['docs/nope.md', 'README.md#nope']);
  expect(brokenPaths('CONTRIBUTING.md', text)).toEqual(['src/nope.ts', 'test/no*.md']);
  expect(brokenScripts(text)).toEqual(['nope']);
  expect(brokenPaths('CONTRIBUTING.md', '`src/main.ts`, `dist/src/main.js`, `platform/errors/`')).toEqual([]);
});

/** The documents to which one leads by a link. */
function linkedFrom(document: string): string[] {
  const links = [...read(document).matchAll(/\]\(([^)\s#]+)(?:#[^)\s]*)?\)/g)];
  return links
    .map(([, link]) => path.join(path.dirname(document), link))
    .map((target) =>
      existsSync(path.join(ROOT, target, 'README.md')) ? path.join(target, 'README.md') : target,
    )
    .filter((file) => documents.includes(file));
}

it.each([
  ['how a deposit gets its status', /^## How a deposit gets its status$/m],
  ['which file answers GET /pools', /^\| `GET \/pools`.*pools\.controller\.ts/m],
  ['how to add a topic of events', /^# A topic$/m],
  ['what a 503 means', /^## 503$/m],
  ["how to restore yesterday's database", /how to bring the database back to any moment, such as yesterday/],
])('README.md leads to %s within two links', (_, answer) => {
  const first = linkedFrom('README.md');
  const near = new Set(['README.md', ...first, ...first.flatMap(linkedFrom)]);
  expect([...near].some((document) => answer.test(read(document)))).toBe(true);
});

it('every document is reached from README.md', () => {
  const reached = new Set(['README.md']);
  for (const document of reached) for (const file of linkedFrom(document)) reached.add(file);
  const alone = documents.filter((document) => !reached.has(document));
  expect(alone.filter((document) => !/^(docs\/runbooks|test\/vectors)\//.test(document))).toEqual([]);
});
