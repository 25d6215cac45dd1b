import '#platform/log/source-maps';
import { redactText } from '#platform/log/redact';
import { schemaProblemAt } from '#platform/migrating/schema';
import { loadEnvironment } from '#settings/environment';
import { USAGE, readOptions, verify } from '#verify/command';
import { endpointsOf } from '#indexer/verification';

/** Compares derived data with the ledger, and the ledger with the chain, while the service runs. See docs/verify.md. */
async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (!options) throw new Error(USAGE);
  const environment = loadEnvironment(process.env, 'indexer');
  const problem = await schemaProblemAt(environment.DATABASE_URL);
  if (problem) throw new Error(problem);
  return verify(options, environment.DATABASE_URL, endpointsOf(environment), environment.OPERATOR);
}

main().then(
  (code) => process.exit(code),
  (error: Error) => {
    process.stderr.write(`${redactText(error.message)}\n`);
    process.exit(2);
  },
);
