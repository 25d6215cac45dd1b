// Measures what deploy/scaling/sizing.md says of disk and logs: DATABASE_URL=… npm run ts -- scripts/sizing.ts
// The database is an empty one with all migrations. See bench/README.md for requests.
import { JwtService } from '@nestjs/jwt';
import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { availableParallelism, totalmem } from 'node:os';
import { Writable } from 'node:stream';
import { Client } from 'pg';
import { createLogger } from '#platform/log/logger';
import { loadEnvironment } from '#settings/environment';
import { createApp } from '#api/app.setup';
import { fill } from '../bench/fill';

const TRANSACTIONS = 100_000;
const REQUESTS = 500;
const SECRET = 'd7a8fbb307d7809469ca9abcb0082e4f8d5651e46d3cdb762d02d0bf37c9e592';
const USER = { id: randomUUID(), address: `0x${'5'.repeat(40)}` };

async function main(): Promise<void> {
  const { DATABASE_URL } = process.env;
  const client = new Client({ connectionString: DATABASE_URL });
  await client.connect();
  const size = async (): Promise<number> =>
    Number(
      (await client.query<{ size: string }>('SELECT pg_database_size(current_database()) AS size')).rows[0]
        .size,
    );
  const before = await size();
  await fill(client, { pools: TRANSACTIONS / 10, transactions: TRANSACTIONS });
  const perMillion = ((await size()) - before) / TRANSACTIONS;
  await client.query('INSERT INTO users (id, address, created_at) VALUES ($1, $2, now())', [
    USER.id,
    USER.address,
  ]);
  await client.end();

  let logged = 0;
  const sink = new Writable({ write: (chunk: Buffer, _, done) => ((logged += chunk.length), done()) });
  const environment = loadEnvironment({
    DATABASE_URL,
    JWT_SECRET: SECRET,
    RATE_LIMIT_GENERAL: '1000000000',
  });
  const app = await createApp(environment, createLogger('info', true, sink));
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as AddressInfo;
  const claims = { userId: USER.id, address: USER.address, generation: 0, jti: randomUUID() };
  const token = new JwtService({ secret: SECRET }).sign(claims, { expiresIn: 3600 });
  const began = logged;
  for (let i = 0; i < REQUESTS; i++)
    await fetch(`http://127.0.0.1:${port}/pools`, { headers: { authorization: `Bearer ${token}` } });
  const perRequest = (logged - began) / REQUESTS;

  await app.close();

  const machine = `${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GB`;
  console.log({
    machine,
    date: new Date().toISOString().slice(0, 10),
    'MB of disk a million transactions, a tenth as many pools': Math.round(perMillion),
    'bytes of log a request': Math.round(perRequest),
  });
}

main().catch((error: Error) => {
  console.error(error);
  process.exit(1);
});
