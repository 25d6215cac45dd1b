import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { compare } from './compare';
import { BenchDatabase } from './database';
import { listeners } from './listeners';
import { say } from './output';
import { useService } from './peers';
import { profile } from './profile';
import { scale } from './scale';

const USAGE = `npm run bench -- [options]

  (none)          compares bare and service; writes bench/results.json
  --quick         the same within two minutes, with shorter runs
  --only <text>   only endpoints whose name contains the text
  --profile       where service and bare spend their time, in the endpoint that --only names
  --service <js>  main.js of another build of the service
  --listeners <n> reads with and without n clients that follow events; with --quick, shorter runs
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
      listeners: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return say(USAGE);
  if (values.service) useService(values.service);
  const database = await BenchDatabase.start();
  try {
    if (values.listeners) await listeners(database, Number(values.listeners), values.quick);
    else if (values.scale) await scale(database);
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
