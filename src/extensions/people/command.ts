import '#platform/log/source-maps';
import type { Client } from 'pg';
import { ADDRESS } from '#values/rules';
import { redactText } from '#platform/log/redact';
import { requireSchema } from '#platform/migrating/schema';
import { recorded } from '#platform/operating/records';
import { withClient } from '#platform/postgres/connection-settings';
import { type TypedStatement, valuesOf } from '#platform/postgres/statement';
import { loadEnvironment } from '#settings/environment';
import { DELETE_ACCOUNT, GO_ON_DELETING, STEP } from './deletions';
import { type Person, exportPage } from './export.sql';

const USAGE = 'usage: people export ADDRESS | delete ADDRESS';
const ROWS = 500;

/**
 * For somebody who asks by letter what is kept of an address: `export` writes it as lines of JSON, `delete` ends the
 * account as its owner may. Both leave a record.
 */
async function main(): Promise<void> {
  const [command, given = '', ...rest] = process.argv.slice(2);
  const address = given.toLowerCase();
  if ((command !== 'export' && command !== 'delete') || !ADDRESS.test(address) || rest.length > 0)
    throw new Error(USAGE);
  const { DATABASE_URL, OPERATOR } = loadEnvironment(process.env, 'ledger');
  await withClient({ connectionString: DATABASE_URL, application_name: 'people' }, async (client) => {
    await requireSchema(client);
    await recorded(
      DATABASE_URL,
      { command: `people ${command}`, arguments: address, by: OPERATOR },
      () => (command === 'export' ? exportAll(client, address) : deleteAll(client, address)),
      (result) => result,
    );
  });
}

async function run<Parameters extends object, Row extends object>(
  client: Client,
  statement: TypedStatement<Parameters, Row>,
  values: Parameters,
): Promise<Row[]> {
  return (await client.query<Row>(statement.text, valuesOf(statement, values))).rows;
}

async function exportAll(client: Client, address: string): Promise<object> {
  const { rows: known } = await client.query<{ id: string }>('SELECT id FROM users WHERE address = $1', [
    address,
  ]);
  const person: Person = { userId: known[0]?.id, address };
  let count = 0;
  let after: string | undefined;
  do {
    const page = await exportPage(person, after, ROWS, (statement, values) => run(client, statement, values));
    count += page.rows.length;
    for (const row of page.rows) await new Promise((written) => process.stdout.write(`${row}\n`, written));
    after = page.next ?? undefined;
  } while (after);
  return { rows: count };
}

/** Continues the deletions of others too: any process may. */
async function deleteAll(client: Client, address: string): Promise<object> {
  const [{ stays }] = await run(client, DELETE_ACCOUNT, { address });
  for (let more = true; more;) [{ more = false }] = await run(client, GO_ON_DELETING, STEP);
  const { rows: waiting } = await client.query('SELECT FROM account_deletions WHERE address = $1', [address]);
  const isComplete = waiting.length === 0;
  const outcome = isComplete
    ? 'deleted'
    : 'being deleted: it waits for the indexer, and the API goes on with it';
  process.stdout.write(`${address}: ${outcome}${stays ? ', but for its pools in the ledger' : ''}\n`);
  return { stays, isComplete };
}

main().catch((error: Error) => {
  process.stderr.write(`${redactText(error.message)}\n`);
  process.exit(1);
});
