/**
 * Judges the tests: breaks the rules in `mutants.txt` one at a time, and reports which suite notices. Works on a copy
 * of the repository in a temporary folder, so that a killed run leaves nothing behind here.
 *
 *     npm run mutants -- [--only ID,ID] [--list] [--check] [--full] [--json FILE]
 *
 * A mutant runs the test files that it names, those of `npm test` first, then those of `npm run test:deep`, up to the
 * first test that fails. With `--full` one that survives them runs everything. `--check` runs the named files without any
 * mutant. Prints a table. Ends with status 1 when a mutant survives, or one of the interface specification is noticed by
 * the deep suite only; with status 2 when a mutant does not apply any more, or names no test.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { escapeIdentifier } from 'pg';
import ts from 'typescript';
import { startPostgres, withClient } from '#dev/postgres';

const ROOT = path.join(__dirname, '..');
/** A mutant may make tests wait until jest gives up. */
const LIMIT_MS = 20 * 60_000;
/** Tests that compare texts of the source notice every change, and so no rule. */
const OF_TEXTS = ['/test/documents/', '/test/deploy/release', '/test/house/'];

interface Mutant extends Record<'id' | 'rule' | 'source' | 'file' | 'find' | 'replace', string> {
  contract: boolean;
  tests: string[];
}

const RULES = readFileSync(path.join(__dirname, 'mutants.txt'), 'utf8');
const MUTANTS = [
  ...RULES.matchAll(/^([\w-]+)(!?): (.*)\n  (.*)\n  (\S+): (.*)\n((?:[-+](?: .*)?\n)+)/gm),
].map(([, id, mark, rule, source, file, tests, lines]): Mutant => {
  const side = (sign: string): string =>
    lines
      .split('\n')
      .flatMap((line) => (line.startsWith(sign) ? line.slice(2) : []))
      .join('\n');
  const change = { file, find: side('-'), replace: side('+') };
  return { id, rule, source, ...change, contract: mark === '!', tests: tests.split(', ') };
});

const SUITES = [
  { name: 'npm test', config: 'jest.config.js' },
  { name: 'deep', config: 'test/config/deep.js' },
];
type Suite = (typeof SUITES)[number] & { files: string[] };

interface Result {
  id: string;
  contract: boolean;
  rule: string;
  /** The suite, or `survived`. */
  killedBy: string;
  /** The first test that failed, with the beginning of its message. */
  test?: string;
  seconds: number;
}

/** Prints each test that fails at once: jest itself tells it at the end of the file. */
const REPORTER = `
const path = require('node:path');
const tell = (file, name, messages) =>
  process.stdout.write('\\nFAILED ' + JSON.stringify({ file: path.relative(process.cwd(), file), name, messages }) + '\\n');
module.exports = class {
  onTestCaseResult({ path: file }, { status, fullName, failureMessages }) {
    if (status === 'failed') tell(file, fullName, failureMessages);
  }
  onTestResult({ path: file }, { testExecError }) {
    if (testExecError) tell(file, 'the file', [testExecError.stack || testExecError.message]);
  }
};`;

class Unusable extends Error {}

/** The source with the mutant in it. @throws Unusable */
function mutate({ id, file, find, replace }: Mutant): string {
  const source = readFileSync(path.join(ROOT, file), 'utf8');
  const count = source.split(find).length - 1;
  if (count !== 1) throw new Unusable(`${id}: \`find\` occurs ${count} times in ${file}`);
  const mutated = source.replace(find, () => replace);
  const { diagnostics = [] } = ts.transpileModule(file.endsWith('.ts') ? mutated : '', {
    reportDiagnostics: true,
  });
  if (diagnostics.length > 0) throw new Unusable(`${id}: ${file} is no TypeScript any more`);
  return mutated;
}

/** What git knows of the repository or would add, and its packages. */
function copyTo(copy: string): void {
  const listed = execFileSync('git', ['ls-files', '-z', '-co', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  for (const file of listed.split('\0'))
    if (file !== '' && existsSync(path.join(ROOT, file)))
      cpSync(path.join(ROOT, file), path.join(copy, file));
  mkdirSync(path.join(copy, 'node_modules'));
  for (const name of readdirSync(path.join(ROOT, 'node_modules')))
    if (name !== '@pooled-savings')
      symlinkSync(path.join(ROOT, 'node_modules', name), path.join(copy, 'node_modules', name));
  // The client of the copy.
  mkdirSync(path.join(copy, 'node_modules/@pooled-savings'));
  symlinkSync('../../client', path.join(copy, 'node_modules/@pooled-savings/client'));
}

/** A copy of the repository, in which jest runs. */
class Workshop {
  private readonly folder = mkdtempSync(path.join(tmpdir(), 'mutants-'));
  private readonly copy = path.join(this.folder, 'copy');
  private readonly temporary = path.join(this.folder, 'tmp');
  private running?: ChildProcess;

  constructor() {
    mkdirSync(this.copy);
    mkdirSync(this.temporary);
    copyTo(this.copy);
    writeFileSync(path.join(this.folder, 'reporter.js'), REPORTER);
  }

  /** Suites that this version of the repository has, with the paths of their test files. */
  suites(): Suite[] {
    return SUITES.filter(({ config }) => existsSync(path.join(this.copy, config))).map((suite) => {
      const listed = execFileSync(process.execPath, [...this.jest(suite), '--listTests'], {
        cwd: this.copy,
        encoding: 'utf8',
      });
      const files = listed.split('\n').filter((line) => path.isAbsolute(line));
      return { ...suite, files: files.map((file) => path.relative(this.copy, file)) };
    });
  }

  write(file: string, text: string): void {
    writeFileSync(path.join(this.copy, file), text);
  }

  restore(file: string): void {
    cpSync(path.join(ROOT, file), path.join(this.copy, file));
  }

  /** @returns the first test that failed; undefined if all pass. With `all` every failing test is told. */
  async firstFailure(suite: Suite, files: string[], all = false): Promise<string | undefined> {
    const child = spawn(
      process.execPath,
      [
        ...this.jest(suite),
        ...['--runInBand', '--forceExit', '--silent', ...(all ? [] : ['--bail'])],
        ...['--reporters', path.join(this.folder, 'reporter.js')],
        ...['--runTestsByPath', ...files],
      ],
      {
        cwd: this.copy,
        env: { ...process.env, TMPDIR: this.temporary },
        stdio: ['ignore', 'pipe', 'pipe'],
        // A process group, which ends with the processes that tests have started.
        detached: true,
      },
    );
    this.running = child;
    let failure: string | undefined;
    let last = '';
    child.stderr.on('data', (chunk: Buffer) => (last = (last + chunk.toString()).slice(-2000)));
    createInterface(child.stdout).on('line', (line) => {
      if (!line.startsWith('FAILED ')) return;
      const { file, name, messages } = JSON.parse(line.slice('FAILED '.length)) as Record<
        'file' | 'name',
        string
      > & {
        messages: string[];
      };
      failure ??= `${file}: ${name}: ${plain(messages.join(' ')).slice(0, 200)}`;
      if (all) process.stderr.write(`${file}: ${name}\n`);
      else end(child);
    });
    const limit = setTimeout(() => {
      failure = `no end within ${LIMIT_MS / 60_000} minutes`;
      end(child);
    }, LIMIT_MS);
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
    clearTimeout(limit);
    if (failure !== undefined || code === 0) return failure;
    // Not by a mutant.
    if (signal) throw new Error(`jest was ended by ${signal}`);
    return `jest ended with ${code}: ${plain(last).slice(-300)}`;
  }

  remove(): void {
    if (this.running) end(this.running);
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  private jest({ config }: { config: string }): string[] {
    return [path.join(this.copy, 'node_modules/jest/bin/jest.js'), '-c', config];
  }
}

/** Ends its whole group. */
function end(child: ChildProcess): void {
  try {
    process.kill(-child.pid!, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

/** In one line, without colours. */
const plain = (text: string): string => text.replace(/\u001b\[[\d;]*m/g, '').replace(/\s+/g, ' ');

/** A test belongs to a pattern that is its path without the ending, or a folder above it. */
const isOf = (file: string, pattern: string): boolean =>
  file.startsWith(`${pattern}/`) ||
  (file.startsWith(`${pattern}.`) && !file.slice(pattern.length).includes('/'));

const filesOf = ({ files }: Suite, tests: string[]): string[] =>
  files.filter((file) => tests.some((pattern) => isOf(file, pattern)));

async function judge(mutant: Mutant, suites: Suite[], workshop: Workshop, full: boolean): Promise<Result> {
  const { id, contract, rule, file, tests } = mutant;
  const began = performance.now();
  const result = (killedBy: string, test?: string): Result => ({
    ...{ id, contract, rule, killedBy, test },
    seconds: Math.round((performance.now() - began) / 1000),
  });
  workshop.write(file, mutate(mutant));
  try {
    for (const suite of suites) {
      const files = filesOf(suite, tests);
      const failure = files.length > 0 ? await workshop.firstFailure(suite, files) : undefined;
      if (failure) return result(suite.name, failure);
    }
    for (const suite of full ? suites : []) {
      const others = suite.files.filter((each) => !OF_TEXTS.some((part) => `/${each}`.includes(part)));
      const failure = await workshop.firstFailure(suite, others);
      if (failure) return result(suite.name, failure);
    }
    return result('survived');
  } finally {
    workshop.restore(file);
  }
}

/** What killed tests leave on the server, and schemas of mutants. */
const dropDatabases = (url: string): Promise<void> =>
  withClient(url, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      `SELECT datname AS name FROM pg_database WHERE datname ~ '^(test|template)_'`,
    );
    for (const { name } of rows)
      await client.query(`DROP DATABASE IF EXISTS ${escapeIdentifier(name)} WITH (FORCE)`);
  });

const isGood = ({ killedBy, contract }: Result): boolean =>
  killedBy === 'npm test' || (killedBy === 'deep' && !contract);

function table(results: Result[]): string {
  const rows = results.map(
    ({ id, contract, killedBy, test = '', seconds }) =>
      `| ${id} | ${contract ? 'contract' : ''} | ${killedBy} | ${test.split(': ').slice(0, 2).join(': ').replaceAll('|', '\\|')} | ${seconds} |`,
  );
  const count = (name: string): number => results.filter(({ killedBy }) => killedBy === name).length;
  return [
    '| mutant | | killed by | first failing test | s |',
    '| --- | --- | --- | --- | --: |',
    ...rows,
    '',
    `${results.length} mutants: ${count('npm test')} killed by npm test, ${count('deep')} by the deep suite, ${count('survived')} survived`,
    `Not as they should be: ${results.flatMap((each) => (isGood(each) ? [] : each.id)).join(', ') || 'none'}`,
  ].join('\n');
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      list: { type: 'boolean' },
      check: { type: 'boolean' },
      full: { type: 'boolean', default: false },
      json: { type: 'string' },
    },
  });
  const only = values.only?.split(',');
  const unknown = only?.filter((id) => !MUTANTS.some((mutant) => mutant.id === id)) ?? [];
  if (unknown.length > 0) throw new Unusable(`no such mutant: ${unknown.join(', ')}`);
  const mutants = MUTANTS.filter(({ id }) => !only || only.includes(id));
  if (values.list) {
    for (const { id, contract, rule, source } of mutants)
      console.log(`${id}${contract ? ' (contract)' : ''}: ${rule} [${source}]`);
    return 0;
  }

  const workshop = new Workshop();
  let postgres: Awaited<ReturnType<typeof startPostgres>> | undefined;
  const stop = async (): Promise<void> => {
    workshop.remove();
    await postgres?.stop();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void stop().finally(() => process.exit(130)));
  try {
    const suites = workshop.suites();
    const problems = mutants.flatMap((mutant) => {
      try {
        mutate(mutant);
      } catch (error) {
        return (error as Error).message;
      }
      const isEmpty = (pattern: string): boolean =>
        suites.every((suite) => filesOf(suite, [pattern]).length === 0);
      return mutant.tests.filter(isEmpty).map((pattern) => `${mutant.id}: ${pattern} names no test`);
    });
    if (new Set(MUTANTS.map(({ id }) => id)).size < MUTANTS.length) problems.push('two mutants have one id');
    if (RULES.match(/^[\w-]+!?: /gm)?.length !== MUTANTS.length)
      problems.push('mutants.txt has another form');
    if (problems.length > 0) throw new Unusable(problems.join('\n'));

    const memory = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
    postgres = await startPostgres({ dir: memory, database: 'test', ephemeral: true });
    process.env.TEST_DATABASE_URL = postgres.url;
    if (values.check) {
      const patterns = mutants.flatMap(({ tests }) => tests);
      let passes = true;
      for (const suite of suites) {
        const files = filesOf(suite, patterns);
        if (files.length > 0 && (await workshop.firstFailure(suite, files, true))) passes = false;
      }
      return passes ? 0 : 1;
    }
    const results: Result[] = [];
    for (const mutant of mutants) {
      const result = await judge(mutant, suites, workshop, values.full);
      results.push(result);
      process.stderr.write(`${result.id}: ${result.killedBy}, ${result.seconds} s ${result.test ?? ''}\n`);
      if (values.json) writeFileSync(values.json, `${JSON.stringify(results, null, 2)}\n`);
      await dropDatabases(postgres.url);
    }
    console.log(table(results));
    return results.every(isGood) ? 0 : 1;
  } finally {
    await stop();
  }
}

main().then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    console.error(error instanceof Unusable ? error.message : error);
    process.exitCode = 2;
  },
);
