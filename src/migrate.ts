import '#platform/operating/early-signals';
import '#platform/log/source-maps';
import { withFiles } from '#platform/config/setting-files';
import { redactText } from '#platform/log/redact';
import { Migrator, migrationSource } from '#platform/migrating/migrator';
import { recorded } from '#platform/operating/records';
import { schemaProblemAt } from '#platform/migrating/schema';

const USAGE = 'usage: migrate [run | revert | roles | wait | check]';
const POLL_MS = 1000;

/** An error of several addresses has no message of its own. */
const causeOf = (error: Error & { code?: string }): string =>
  redactText(error.message || (error.code ?? error.name));
const tell = (line: string): void => void process.stderr.write(`${line}\n`);

/**
 * `run`, the default, runs the migrations that the database lacks, and installs functions and rights; `revert` undoes
 * the last one; `roles` gives the roles their rights, where they came after the tables; `wait` ends when this version can
 * work on the schema, however long that takes; `check` says whether it can, by its exit code.
 */
async function main(): Promise<number> {
  const [command = 'run', ...rest] = process.argv.slice(2);
  const { values, problems } = withFiles(process.env, ['DATABASE_URL', 'OPERATOR']);
  for (const problem of problems.values()) throw new Error(problem);
  const { DATABASE_URL, OPERATOR } = values;
  if (!DATABASE_URL) throw new Error('DATABASE_URL is required');
  if (rest.length > 0) throw new Error(USAGE);
  if (command === 'wait') return wait(DATABASE_URL);
  if (command === 'check') return check(await schemaProblemAt(DATABASE_URL));
  // Its errors say the cause; those of TypeORM's pool say that there is no connection.
  const problem = await schemaProblemAt(DATABASE_URL);
  const operation = { command: `migrate ${command}`, arguments: '', by: OPERATOR };
  const source = await migrationSource(DATABASE_URL).initialize();
  try {
    const migrator = new Migrator(source, tell);
    const commands = new Map<string, () => Promise<object>>([
      ['run', async () => ({ ran: await migrator.run() })],
      ['revert', async () => ({ undone: await revert(migrator) })],
      ['roles', async () => (await migrator.grant(), {})],
    ]);
    const work = commands.get(command);
    if (!work) throw new Error(USAGE);
    // A deployment runs it each time, mostly for nothing.
    if (command === 'run' && problem === undefined) await work();
    else await recorded(DATABASE_URL, operation, work, (result) => result);
    return 0;
  } finally {
    await source.destroy();
  }
}

async function revert(migrator: Migrator): Promise<string | undefined> {
  const undone = await migrator.revert();
  tell(undone ?? 'no migration has run');
  return undone;
}

function check(problem?: string): number {
  tell(problem ?? 'the schema has the migrations of this version');
  return problem ? 1 : 0;
}

/** Tells each cause once, while it lasts. */
async function wait(url: string): Promise<number> {
  let told: string | undefined;
  for (;;) {
    const problem = await schemaProblemAt(url).catch(causeOf);
    if (problem === undefined) return check();
    if (problem !== told) tell(problem);
    told = problem;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

main().then(
  (code) => process.exit(code),
  (error: Error) => {
    tell(causeOf(error));
    process.exit(2);
  },
);
