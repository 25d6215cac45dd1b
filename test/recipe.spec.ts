import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { applyRecipe, readRecipe } from '../scripts/recipe';

const ROOT = path.join(__dirname, '..');
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

describe('"Adding a module" in CONTRIBUTING.md', () => {
  const recipe = readRecipe(read('CONTRIBUTING.md'));

  it('has a migration, the files of a feature, a test, four edits and the commands', () => {
    expect([...recipe.files.keys()]).toEqual([
      expect.stringMatching(/^migrations\/\d{13}-notes\.ts$/),
      ...['note.entity', 'notes.dto', 'notes.service', 'notes.controller', 'notes.module'].map(
        (name) => `src/features/notes/${name}.ts`,
      ),
      'test/notes.e2e-spec.ts',
    ]);
    expect(recipe.edits.map(({ file }) => file)).toEqual([
      'src/api/documents/document.ts',
      'src/api/app.module.ts',
      'src/api/app.module.ts',
      'README.md',
    ]);
    expect(recipe.commands).toEqual(['npm run openapi', 'npx prettier --write README.md']);
  });

  it('fits the repository as it is; `npm run test:recipe` shows that the result works', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'recipe-'));
    try {
      for (const part of ['src/api/documents', 'migrations'])
        mkdirSync(path.join(folder, part), { recursive: true });
      // All but the recipe's own, which exist when this runs in the copy that followed it.
      for (const file of readdirSync(path.join(ROOT, 'migrations')))
        if (!recipe.files.has(`migrations/${file}`)) writeFileSync(path.join(folder, 'migrations', file), '');
      for (const { file } of recipe.edits) writeFileSync(path.join(folder, file), read(file));
      applyRecipe(recipe, folder);
      const names = (text: string): number => text.split('NotesModule').length - 1;
      const edited = readFileSync(path.join(folder, 'src/api/app.module.ts'), 'utf8');
      expect(names(edited)).toBe(names(read('src/api/app.module.ts')) + 2);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
