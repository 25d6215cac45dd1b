import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { filesOf, readRecipes } from '../../scripts/recipe';

const ROOT = path.join(__dirname, '../..');
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');
const scriptsOf = (file: string): string[] =>
  Object.keys((JSON.parse(read(file)) as { scripts: object }).scripts);

const listed = execFileSync('git', ['ls-files', '-co', '--deduplicate', '--exclude-standard', '-z'], {
  cwd: ROOT,
  encoding: 'utf8',
});
const removed = execFileSync('git', ['ls-files', '-d', '-z'], { cwd: ROOT, encoding: 'utf8' }).split('\0');
const files = listed.split('\0').filter((file) => file && !removed.includes(file));
const documents = files.filter((file) => file.endsWith('.md'));
/** What there is after the recipes, too. */
const all = [...files, ...readRecipes().flatMap(filesOf)];
const scripts = ['package.json', 'client/package.json', 'examples/dapp/package.json'].flatMap(scriptsOf);

const withoutBlocks = (text: string): string => text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '');
const linksOf = (text: string): string[] =>
  [...withoutBlocks(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link);

/** The anchors of headings, as GitHub makes them. */
const anchorsOf = (text: string): string[] =>
  [...withoutBlocks(text).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .trim()
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );

/** Whether a file, a folder or a pattern such as `docs/**` names something. */
function exists(name: string): boolean {
  const pattern = name
    .replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll(/\*+/g, (stars) => (stars === '*' ? '[^/]*' : '.*'));
  const wanted = new RegExp(`^${pattern}${name.endsWith('/') ? '' : '(/|$)'}`);
  return name === '.' || all.some((file) => wanted.test(file));
}

function isBroken(document: string, text: string, link: string): boolean {
  if (/^(https?|mailto):/.test(link)) return false;
  const [target, anchor] = link.split('#');
  const file = target ? path.join(path.dirname(document), target) : document;
  if (!exists(file)) return true;
  return anchor !== undefined && !anchorsOf(file === document ? text : read(file)).includes(anchor);
}

/** Beginnings of what is a path of this repository when it stands between backticks. */
const FOLDERS =
  /^(?:src|docs|test|deploy|scripts|client|examples|bench|contracts|migrations|queries|platform|features|ledger|indexer|verify|keeper|api|settings|dist\/src)\//;
const isPath = (name: string): boolean =>
  FOLDERS.test(name) && !name.includes('/.') && /\.\w+$|\/$|\*/.test(name);
const isTest = (name: string): boolean => /^[\w.-]+\.(\w+-)?spec\.ts$/.test(name);

/** Links, paths, tests and scripts that a document names and that do not exist. */
function broken(document: string, text = read(document)): string[] {
  const links = linksOf(text).filter((link) => isBroken(document, text, link));
  const named = [...text.matchAll(/`([\w.@*/-]+)`/g)].map(([, name]) => name);
  const places = ['', 'src/', `${path.dirname(document)}/`];
  const paths = named.filter(isPath).filter((name) => {
    const source = name.replace(/^dist\/(.*)\.js$/, '$1.ts');
    return !places.some((place) => exists(path.normalize(place + source)));
  });
  const tests = named.filter((name) => isTest(name) && !all.some((file) => path.basename(file) === name));
  const run = [...text.matchAll(/npm run (?:-s )?([a-z][\w:]*)/g)].map(([, name]) => name);
  return [...links, ...paths, ...tests, ...run.filter((name) => !scripts.includes(name))];
}

it('documents name only links, paths, tests and scripts that exist', () => {
  const faults = documents.flatMap((document) => broken(document).map((name) => `${document}: ${name}`));
  expect(faults).toEqual([]);
});

it('threats name tests that exist, by paths without endings', () => {
  const rows = read('docs/threats.md').matchAll(/^\|.*\|([^|]*)\|$/gm);
  const named = [...rows].flatMap(([, cell]) =>
    [...cell.matchAll(/`([\w/*-]+)(\.spec)?`/g)].map(([, name]) => name),
  );
  const tests = files.filter((file) => file.endsWith('spec.ts')).map((file) => `/${file}`);
  const missing = named.filter((name) => {
    const wanted = new RegExp(`/${name.replaceAll('*', '[^/]*')}\\.(\\w+-)?spec\\.ts$`);
    return name !== 'test/…' && !tests.some((file) => wanted.test(file));
  });
  expect(named.length).toBeGreaterThan(40);
  expect(missing).toEqual([]);
});

it('every document is reached from README.md', () => {
  const reached = new Set(['README.md']);
  for (const document of reached)
    for (const link of linksOf(read(document))) {
      const target = path.join(path.dirname(document), link.split('#')[0]);
      for (const file of [target, path.join(target, 'README.md')])
        if (documents.includes(file)) reached.add(file);
    }
  const alone = documents.filter((document) => !reached.has(document));
  expect(alone.filter((document) => !/^test\/vectors\//.test(document))).toEqual([]);
});

/** Words that read as if they were translated, with what to write instead. */
const MANNERISMS: Record<string, string> = {
  anew: 'again, rebuilt',
  dearer: 'more expensive',
  henceforth: 'from now on',
  storey: 'layer',
  storeys: 'layers',
  thereof: 'of it',
  whoever: 'the caller, a client, the account that …',
};
const withoutGenerated = (text: string): string =>
  text.replaceAll(/<!-- (\w+): written by[^]*?<!-- end of \1 -->/g, '');
/** What is released, or generated, and the list itself. */
const NOT_REWRITTEN =
  /^(migrations|queries|test\/vectors|contracts\/\w+\.sol|CHANGELOG\.md|test\/documents\/links\.spec\.ts)|\.(json|png)$/;

it('documents, comments and titles of tests use plain words', () => {
  const mannerism = new RegExp(`\\b(${Object.keys(MANNERISMS).join('|')})\\b`, 'gi');
  const found = files
    .filter((file) => !NOT_REWRITTEN.test(file))
    .flatMap((file) =>
      [...withoutGenerated(read(file)).matchAll(mannerism)].map(([word]) => [file, word.toLowerCase()]),
    );
  expect(found.map(([file, word]) => `${file}: ${word} (${MANNERISMS[word]})`)).toEqual([]);
});
