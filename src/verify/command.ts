import type { AskedChain } from '#verify/contract/holdings';
import { type VerifyReport, asText } from '#verify/checks/findings';
import { Progress } from './progress';
import { Verification } from './verify';

export const USAGE = 'usage: verify [--repair] [--json] [--no-chain] [--limit N]';

/** Differences that are listed by default. */
const DEFAULT_LIMIT = 100;

export interface VerifyOptions {
  repair: boolean;
  json: boolean;
  chain: boolean;
  limit: number;
}

/** @returns undefined when the arguments are not valid */
export function readOptions(args: string[]): VerifyOptions | undefined {
  const options: VerifyOptions = { repair: false, json: false, chain: true, limit: DEFAULT_LIMIT };
  for (let i = 0; i < args.length; i += 1) {
    if (args[i] === '--repair') options.repair = true;
    else if (args[i] === '--json') options.json = true;
    else if (args[i] === '--no-chain') options.chain = false;
    else if (args[i] === '--limit' && /^\d{1,6}$/.test(args[i + 1] ?? '')) options.limit = Number(args[++i]);
    else return undefined;
  }
  return options;
}

/** Runs once, until it is done or gets SIGTERM or SIGINT, and prints what it found. */
export async function verify(
  { repair, json, chain, limit }: VerifyOptions,
  databaseUrl: string,
  endpoints: AskedChain,
): Promise<VerifyReport> {
  const stop = new AbortController();
  for (const event of ['SIGTERM', 'SIGINT']) process.on(event, () => stop.abort());
  const run = new Verification(
    { databaseUrl, endpoints: chain ? endpoints : undefined, repair, limit },
    new Progress(),
    stop.signal,
  );
  const report = await run.run();
  const text = json ? `${JSON.stringify(report, null, 2)}\n` : asText(report);
  await new Promise((written) => process.stdout.write(text, written));
  return report;
}
