import { Client } from 'pg';
import { Courtesy } from '#indexer/leading/courtesy';
import { connect } from '#indexer/leading/leader';
import { until } from './support/app';
import { type TestDatabase, emptyDatabase } from './support/database';

jest.setTimeout(60_000);

/** Many transactions. */
const WORK = 'DO $$ BEGIN FOR i IN 1..1000 LOOP COMMIT; END LOOP; END $$';
/** Of a full batch. */
const FULL = 8000;

describe('an indexer that catches up', () => {
  let database: TestDatabase;
  let client: Client;
  let other: Client;
  beforeAll(async () => {
    database = await emptyDatabase();
    client = await connect(database.url);
    other = new Client({ connectionString: database.url });
    await other.connect();
  });
  afterAll(async () => {
    await other.end();
    await client.end();
    await database.drop();
  });

  it('sees that others work in its database, and that they have stopped', async () => {
    const courtesy = new Courtesy(client);
    const events = async (): Promise<number> => {
      // A batch of its own.
      await client.query('SELECT 1');
      return (await courtesy.look()).events;
    };
    for (const end = performance.now() + 2500; performance.now() < end;) expect(await events()).toBe(FULL);
    let working = true;
    const work = (async (): Promise<void> => {
      while (working) await other.query(WORK);
    })();
    await until(async () => (await events()) < FULL);
    working = false;
    await work;
    await until(async () => (await events()) === FULL);
  });
});
