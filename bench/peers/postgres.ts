import postgres from 'postgres';
import { valuesOf } from '#platform/postgres/statement';
import { serve } from './server';

/** Without `simple`, statements without parameters would be parsed every time. */
const PREPARED = { prepare: true, simple: false };
const asGiven = (value: string): string => value;

/** postgres.js pipelines by itself. */
serve((url, max, options) => {
  const sql = postgres(url, {
    max,
    connection: { options },
    // Times are texts here, on both ways.
    types: { date: { to: 1184, from: [1082, 1114, 1184], serialize: asGiven, parse: asGiven } },
  });
  return Promise.resolve((statement, parameters) =>
    sql.unsafe(statement.text, valuesOf(statement, parameters) as never[], PREPARED),
  );
});
