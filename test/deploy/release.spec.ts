import path from 'node:path';
import { checksumsOf, faultsOf, isLater, releasedOf, withRelease } from '../../scripts/release';

const ROOT = path.join(__dirname, '../..');
const DAY = '2026-01-31';

it('released migrations are as they were released, and new ones come after them', () => {
  expect(faultsOf(releasedOf(ROOT), checksumsOf(ROOT))).toEqual([]);
});

it('a released migration may neither change nor go, and none may come before it', () => {
  const released = { version: '1.0.0', checksums: { 'migrations/2-b.ts': 'x', 'migrations/2-b/1.sql': 'y' } };
  expect(faultsOf(released, released.checksums)).toEqual([]);
  expect(faultsOf(released, { ...released.checksums, 'migrations/3-c.ts': 'z' })).toEqual([]);
  expect(
    faultsOf(released, { 'migrations/1-a.ts': 'z', 'migrations/2-b.ts': 'X', 'migrations/2-b/2.sql': 'z' }),
  ).toEqual([
    'migrations/2-b.ts is released and must not change',
    'migrations/2-b/1.sql is released and must not go',
    'migrations/1-a.ts must come after migrations/2-b.ts, which is released',
    'migrations/2-b/2.sql must come after migrations/2-b.ts, which is released',
  ]);
});

it('versions have an order', () => {
  expect(isLater('1.0.0', 'unreleased')).toBe(true);
  expect(isLater('1.10.0', '1.9.9')).toBe(true);
  for (const before of ['1.9.9', '1.9.8', '1.8.10', '0.10.10']) expect(isLater(before, '1.9.9')).toBe(false);
});

it('the changelog gets a section, if there is anything to say', () => {
  const text = '# Changelog\n\n## [Unreleased]\n\n### Added\n\n- More.\n\n## [1.0.0] - 2026-01-01\n';
  expect(withRelease(text, '1.1.0', DAY)).toBe(
    text.replace('## [Unreleased]\n', `## [Unreleased]\n\n## [1.1.0] - ${DAY}\n`),
  );
  expect(() => withRelease(text.replace('### Added\n\n- More.\n', ''), '1.1.0', DAY)).toThrow('says nothing');
  expect(() => withRelease('# Changelog\n', '1.1.0', DAY)).toThrow('no section');
});
