import { parseArgs } from 'node:util';
import '#platform/operating/early-signals';
import '#platform/log/source-maps';
import { redactText } from '#platform/log/redact';
import { schemaProblemAt } from '#platform/migrating/schema';
import { recorded } from '#platform/operating/records';
import { loadEnvironment } from '#settings/environment';
import { type VerifyReport, asText, exitCode } from '#verify/checks/findings';
import { verify } from '#verify/verify';
import { endpointsOf } from '#indexer/verification';

const USAGE = 'usage: verify [--repair] [--json] [--no-chain] [--limit N]';

/** @throws when the arguments are not valid */
function readOptions(args: string[]): { repair: boolean; json: boolean; chain: boolean; limit: number } {
  const flag = { type: 'boolean', default: false } as const;
  const limit = { type: 'string', default: '100' } as const;
  try {
    const { values } = parseArgs({ args, options: { repair: flag, json: flag, 'no-chain': flag, limit } });
    if (/^\d{1,6}$/.test(values.limit))
      return { ...values, chain: !values['no-chain'], limit: Number(values.limit) };
  } catch {
    // Below.
  }
  throw new Error(USAGE);
}

/**
 * Compares derived data with the ledger, and the ledger with the chain, while the service runs, until it is done or gets
 * SIGTERM or SIGINT. See docs/verify.md.
 */
async function main(): Promise<number> {
  const { repair, json, chain, limit } = readOptions(process.argv.slice(2));
  const environment = loadEnvironment(process.env, 'indexer');
  const { DATABASE_URL: databaseUrl, OPERATOR: by } = environment;
  const problem = await schemaProblemAt(databaseUrl);
  if (problem) throw new Error(problem);
  const stop = new AbortController();
  for (const event of ['SIGTERM', 'SIGINT']) process.on(event, () => stop.abort());
  const endpoints = chain ? endpointsOf(environment) : undefined;
  const tell = (line: string): unknown => process.stderr.write(`${line}\n`);
  const run = (): Promise<VerifyReport> =>
    verify({ databaseUrl, endpoints, repair, limit }, tell, stop.signal);
  const operation = { command: 'verify --repair', arguments: chain ? '' : '--no-chain', by };
  const report = repair
    ? await recorded(databaseUrl, operation, run, ({ complete, differences, repaired }) => ({
        complete,
        differences,
        repaired,
      }))
    : await run();
  const text = json ? `${JSON.stringify(report, null, 2)}\n` : asText(report);
  await new Promise((written) => process.stdout.write(text, written));
  return exitCode(report);
}

main().then(
  (code) => process.exit(code),
  (error: Error) => {
    process.stderr.write(`${redactText(error.message)}\n`);
    process.exit(2);
  },
);
