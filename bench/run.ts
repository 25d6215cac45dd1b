import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { compare } from './compare';
import { BenchDatabase } from './database';
import { fairness } from './fairness';
import { say } from './output';
import { useService } from './peers';
import { profile } from './profile';
import { scale } from './scale';

const USAGE = `npm run bench -- [options]

  (none)          compares the service with a server written by hand; writes bench/results.json
  --quick         the same within three minutes, with shorter runs; writes nothing
  --only <text>   only endpoints, or disturbances, whose name contains the text; writes nothing
  --profile       where the service and its peer on pg spend their time, in the endpoint that --only names
  --service <js>  main.js of another build of the service; writes nothing
  --fairness      latency with and without 2,000 streams, a flood of sign-ins, the indexer; writes
                  bench/results-fairness.json
  --scale         little data against much, light callers against a heavy one; writes bench/results-scale.json
`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      scale: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      only: { type: 'string' },
      service: { type: 'string' },
      fairness: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return say(USAGE);
  if (values.service) useService(values.service);
  const database = await BenchDatabase.start();
  try {
    if (values.fairness) await fairness(database, values);
    else if (values.scale) await scale(database, { service: values.service });
    else if (values.profile) await profile(database, values.only ?? 'GET /pools');
    else await compare(database, values);
  } finally {
    await database.stop();
  }
}

main().then(
  () => process.exit(0),
  (error: Error) => {
    say(error.stack ?? error.message);
    process.exit(1);
  },
);
