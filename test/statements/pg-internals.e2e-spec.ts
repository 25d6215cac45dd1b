import { Client, type Connection } from 'pg';
import { onceUndone } from '#platform/postgres/pg-internals';
import { type TestDatabase, emptyDatabase } from '../support/database';

describe('onceUndone', () => {
  let database: TestDatabase;
  let client: Client;

  beforeAll(async () => (database = await emptyDatabase()));
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  it('calls back after the error of a statement, once for each, and when the connection is lost', async () => {
    const order: string[] = [];
    const fail = (name: string): void =>
      void client.query('SELECT 1 / 0', () => {
        order.push(`${name} fails`);
        onceUndone(client, () => order.push(`${name} is undone`));
      });
    client = new Client({ connectionString: database.url, pipeline: true });
    client.on('error', () => undefined);
    await client.connect();
    ['first', 'second'].forEach(fail);
    await client.query('SELECT');
    const undone = ['first fails', 'first is undone', 'second fails', 'second is undone'];
    expect(order).toEqual(undone);
    const { connection } = client as Client & { connection: Connection };
    const ended = new Promise((resolve) => connection.once('end', resolve));
    onceUndone({ connection }, () => order.push('lost'));
    connection.stream.destroy();
    onceUndone({ connection }, () => order.push('is lost already'));
    await ended;
    expect(order).toEqual([...undone, 'is lost already', 'lost']);
    for (const event of ['readyForQuery', 'end']) expect(connection.listenerCount(event)).toBeLessThan(2);
  });
});
