import '#platform/operating/early-signals';
import '#platform/log/source-maps';
import { redactText } from '#platform/log/redact';
import { schemaProblemAt } from '#platform/migrating/schema';
import { recorded } from '#platform/operating/records';
import { loadEnvironment } from '#settings/environment';
import { type VerifyReport, exitCode } from '#verify/checks/findings';
import { USAGE, readOptions, verifyOnce } from '#verify/verify';
import { endpointsOf } from '#indexer/verification';

/** Compares derived data with the ledger, and the ledger with the chain, while the service runs. See docs/verify.md. */
async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (!options) throw new Error(USAGE);
  const environment = loadEnvironment(process.env, 'indexer');
  const problem = await schemaProblemAt(environment.DATABASE_URL);
  if (problem) throw new Error(problem);
  const { DATABASE_URL, OPERATOR } = environment;
  const run = (): Promise<VerifyReport> => verifyOnce(options, DATABASE_URL, endpointsOf(environment));
  if (!options.repair) return exitCode(await run());
  const operation = {
    command: 'verify --repair',
    arguments: options.chain ? '' : '--no-chain',
    by: OPERATOR,
  };
  const report = await recorded(DATABASE_URL, operation, run, ({ complete, differences, repaired }) => ({
    complete,
    differences,
    repaired,
  }));
  return exitCode(report);
}

main().then(
  (code) => process.exit(code),
  (error: Error) => {
    process.stderr.write(`${redactText(error.message)}\n`);
    process.exit(2);
  },
);
