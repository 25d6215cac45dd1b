import { Client } from 'pg';
import { valuesOf } from '#platform/postgres/statement';
import { serve } from './server';

/** Pipelined as node-postgres documents it: a pool would use a client for one statement at a time. */
serve(async (connectionString, connections, options) => {
  const clients = Array.from(
    { length: connections },
    () => new Client({ connectionString, options, pipeline: true, keepAlive: true }),
  );
  await Promise.all(clients.map((client) => client.connect()));
  let turn = 0;
  return async (statement, parameters) => {
    const { name, text } = statement;
    const client = clients[turn++ % connections];
    return (await client.query({ name, text, values: valuesOf(statement, parameters) })).rows;
  };
});
