import { readFileSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';

const SRC = join(__dirname, '../../src');

/**
 * What lasts longer than a transaction: locks and settings of the session, temporary tables, notifications, cursors that
 * are held. A pooler in transaction mode gives the next transaction another session.
 */
const OF_SESSION =
  /pg_(try_)?advisory_lock(_shared)?\b|\bTEMP(ORARY)?\s+(TABLE|VIEW|SEQUENCE)|\b(UN)?LISTEN\s+[a-z]|\bWITH HOLD\b|(?:['"]|[`;]\s*)(SET\s+(?!LOCAL\b|CONSTRAINTS\b|TRANSACTION\b)|RESET\s+|PREPARE\s+|DISCARD\s+)|set_config\([^()]*(\([^()]*\)[^()]*)*,\s*false\s*\)/;

/** These connect directly; deploy/scaling/pooler.md says so. */
const DIRECT =
  /^(indexer\/(leading\/leader\.ts$|replaying\/|shares\/correction\.sql\.ts$)|platform\/migrating\/migrator\.ts$|verify\/(verify|checks\/(connection|pools\.sql))\.ts$)/;

const sources = readdirSync(SRC, { recursive: true, withFileTypes: true })
  .filter(({ name }) => name.endsWith('.ts') && !name.endsWith('spec.ts'))
  .map(({ parentPath, name }) => join(parentPath, name));
const usesSession = (file: string): boolean => OF_SESSION.test(readFileSync(file, 'utf8'));

it('the API works without anything of a session, so that a pooler may share connections', () => {
  expect(sources.length).toBeGreaterThan(200);
  const found = sources.filter(usesSession).map((file) => relative(SRC, file));
  expect(found.filter((file) => !DIRECT.test(file))).toEqual([]);
  // It finds those that there are.
  expect(found).toEqual(
    expect.arrayContaining(['platform/migrating/migrator.ts', 'verify/checks/connection.ts']),
  );
});
