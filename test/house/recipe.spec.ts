import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CHECK_ALL, applyEdit, applyRecipe, filesOf, readRecipes } from '../../scripts/recipe';

const ROOT = path.join(__dirname, '../..');
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');
const recipes = readRecipes();

describe('the recipes', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'recipe-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  // What they edit, and the migrations, by whose names a new one has to be the last: also behind one that is made now.
  beforeAll(() => {
    mkdirSync(path.join(folder, 'migrations'));
    const names = readdirSync(path.join(ROOT, 'migrations')).filter((name) => name.endsWith('.ts'));
    for (const name of [...names, `${Date.now()}-own.ts`])
      writeFileSync(path.join(folder, 'migrations', name), '');
    for (const file of recipes.flatMap(filesOf).filter((each) => existsSync(path.join(ROOT, each)))) {
      mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
      writeFileSync(path.join(folder, file), read(file));
    }
  });

  it('begin with the module, on which others build', () => {
    expect(recipes.map(({ name }) => name)).toContain('topic.md');
    expect(recipes[0].name).toBe('tutorial.md');
  });

  it.each(recipes.map((recipe) => [recipe.name, recipe] as const))(
    '%s fits the repository as it is, and has a test; `npm run test:recipe` shows that it works',
    (_, recipe) => {
      const tests = [...recipe.files.keys()].filter((file) => /^test\/.*-?spec\.ts$/.test(file));
      expect(tests).toHaveLength(1);
      try {
        applyRecipe(recipe, folder);
      } catch (error) {
        throw new Error(`edit ${recipe.name} too, which shows code as it was: ${(error as Error).message}`);
      }
      for (const [file, text] of recipe.files)
        expect(readFileSync(path.join(folder, file), 'utf8')).toBe(text);
    },
  );
});

it.each(CHECK_ALL)('the tests %s, which the copy runs, exist', (pattern) => {
  const tests = ['src', 'test'].flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map(
      (file) => `${folder}/${file}`,
    ),
  );
  expect(tests.filter((file) => file.endsWith('spec.ts') && new RegExp(pattern).test(file))).not.toEqual([]);
});

it('a recipe does not fit where the lines to edit are missing, or there twice', () => {
  const edit = { file: 'b.ts', before: ['b'], after: ['c'] };
  expect(applyEdit('a\nb', edit)).toBe('a\nc');
  expect(() => applyEdit('a', edit)).toThrow('found 0 times');
  expect(() => applyEdit('b\nb', edit)).toThrow('found 2 times');
});
