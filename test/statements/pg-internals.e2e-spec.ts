import { Client, type Connection, DatabaseError, type Submittable } from 'pg';
import { serialize } from 'pg-protocol';
import {
  PgClient,
  PgQuery,
  isParsed,
  onServerError,
  onceUndone,
  prepareValue,
  sentText,
} from '#platform/postgres/pg-internals';
import { type TestDatabase, emptyDatabase } from '../support/database';

const ONE = { name: 'one', text: 'SELECT $1::int AS value' };
const DIVIDE = { name: 'divide', text: 'SELECT 12 / $1::int AS value' };

/** Writes its messages itself, and records what pg hands to it. */
class Recorded extends PgQuery {
  readonly events: unknown[][] = [];
  readonly ended: Promise<void>;
  private end!: () => void;

  constructor(
    private readonly messages: Buffer[],
    statement: { name?: string; text?: string } = {},
  ) {
    super({}, () => undefined);
    Object.assign(this, statement);
    this.ended = new Promise((resolve) => (this.end = resolve));
  }

  override submit(connection: Connection): null {
    connection.stream.write(Buffer.concat([...this.messages, serialize.sync()]));
    return null;
  }
  override handleRowDescription(message: { fields: { name: string; dataTypeID: number }[] }): void {
    this.events.push([
      'row description',
      ...message.fields.map(({ name, dataTypeID }) => [name, dataTypeID]),
    ]);
  }
  override handleDataRow(message: { fields: (string | null)[] }): void {
    this.events.push(['row', ...message.fields]);
  }
  override handleCommandComplete(): void {
    this.events.push(['complete']);
  }
  override handleEmptyQuery(): void {
    this.events.push(['empty']);
  }
  override handleError(error: Error): void {
    this.events.push(['error', (error as DatabaseError).code ?? error.message]);
    this.end();
  }
  override handleReadyForQuery(): void {
    this.events.push(['ready']);
    this.end();
  }
}

const execution = (name: string, ...values: unknown[]): Buffer[] => [
  serialize.bind({ statement: name, values, valueMapper: prepareValue }),
  serialize.describe({ type: 'P' }),
  serialize.execute(),
];

describe('members of pg beside its public types', () => {
  let database: TestDatabase;
  let client: Client;

  beforeAll(async () => (database = await emptyDatabase()));
  afterAll(() => database.drop());
  const connect = async (config = {}): Promise<Client> => {
    client = new Client({ connectionString: database.url, pipeline: true, ...config });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  };
  afterEach(() => client.end());
  const send = (query: Recorded): Recorded =>
    client.query(query as unknown as Submittable) as unknown as Recorded;

  it('utils.prepareValue: values as Bind takes them', async () => {
    await connect();
    const values = [null, 'a', 1.5, true, ['x', null, '"'], { a: [1] }];
    expect(values.map(prepareValue)).toEqual([null, 'a', '1.5', 'true', '{"x",NULL,"\\""}', '{"a":[1]}']);
    expect(() => prepareValue({ toPostgres: () => assert() })).toThrow('no such value');
    expect(prepareValue(new Date(0))).toMatch(/^19(70-01-01|69-12-31)T/);
  });

  it('parsedStatements: the name and text of the query that is answered, once its Parse is', async () => {
    await connect();
    expect([isParsed(client, 'one'), sentText(client.connection, 'one')]).toEqual([false, undefined]);
    await send(new Recorded([serialize.parse(ONE), ...execution('one', 1)], ONE)).ended;
    expect([isParsed(client, 'one'), sentText(client.connection, 'one')]).toEqual([true, ONE.text]);
    await send(new Recorded([serialize.parse({ ...DIVIDE, text: 'none' })], DIVIDE)).ended;
    expect(isParsed(client, 'divide')).toBe(false);
    // Also if the statement itself fails.
    await send(new Recorded([serialize.parse(DIVIDE), ...execution('divide', 0)], DIVIDE)).ended;
    expect(isParsed(client, 'divide')).toBe(true);
  });

  it('submittedNamedStatements: what a query of pg has sent, until its Parse is answered', async () => {
    await connect();
    const answer = client.query({ ...ONE, values: [1] });
    expect([isParsed(client, 'one'), sentText(client.connection, 'one')]).toEqual([false, ONE.text]);
    await answer;
    expect([isParsed(client, 'one'), sentText(client.connection, 'one')]).toEqual([true, ONE.text]);
    const failed = client.query({ name: 'wrong', text: 'none' });
    expect(sentText(client.connection, 'wrong')).toBe('none');
    await expect(failed).rejects.toThrow('syntax error');
    expect(sentText(client.connection, 'wrong')).toBeUndefined();
  });

  it('Query: handed every answer up to Sync, in a pipeline, with the messages that it wrote itself', async () => {
    await connect();
    const batches = [
      new Recorded([serialize.parse(ONE), ...execution('one', 1), ...execution('one', null)], ONE),
      new Recorded([serialize.parse({ text: '' }), ...execution('')]),
      new Recorded([serialize.parse(DIVIDE), ...execution('divide', 0), ...execution('divide', 3)], DIVIDE),
      new Recorded([...execution('divide', 3)], DIVIDE),
    ];
    batches.forEach(send);
    await Promise.all(batches.map(({ ended }) => ended));
    const described = ['row description', ['value', 23]];
    expect(batches.map(({ events }) => events)).toEqual([
      [described, ['row', '1'], ['complete'], described, ['row', null], ['complete'], ['ready']],
      [['empty'], ['ready']],
      [['error', '22012']],
      [described, ['row', '4'], ['complete'], ['ready']],
    ]);
  });

  it('Query: the only class that a pipeline takes', async () => {
    await connect();
    const other = { submit: () => undefined, handleError: jest.fn() };
    client.query(other as unknown as Submittable);
    await client.query('SELECT');
    expect(other.handleError).toHaveBeenCalledWith(
      expect.objectContaining({
        message: expect.stringContaining('not supported in pipeline mode') as string,
      }),
      expect.anything(),
    );
  });

  it('Query.callback: with query_timeout, one in its place that stops the timer', async () => {
    await connect({ query_timeout: 1000 });
    const query = new Recorded([serialize.parse(ONE), ...execution('one', 1)], ONE);
    const { callback } = query;
    send(query);
    expect(query.callback).not.toBe(callback);
    await query.ended;
    query.callback();
    const end = performance.now() + 1200;
    const sleep = { text: 'SELECT pg_sleep(0.1)', query_timeout: 60_000 };
    while (performance.now() < end) await client.query(sleep);
    expect(query.events.at(-1)).toEqual(['ready']);
  });

  it('Connection "errorMessage": what the server reports, before the statement fails', async () => {
    client = new Client({ connectionString: database.url, pipeline: true });
    const order: unknown[] = [];
    onServerError(client, (error) => order.push(['server', error.code, error instanceof DatabaseError]));
    client.on('error', () => undefined);
    await client.connect();
    client.query('SELECT 1 / 0', (error) => order.push(['statement', (error as DatabaseError).code]));
    await client.query('SELECT');
    expect(order).toEqual([
      ['server', '22012', true],
      ['statement', '22012'],
    ]);
  });

  it('Connection "readyForQuery" and "end": after the error of a statement, once for each', async () => {
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

  it('Client.emit: "error" of a lost connection first, then every statement fails with it', async () => {
    const order: string[] = [];
    class Listening extends PgClient {
      override emit(event: string, ...args: unknown[]): boolean {
        if (event === 'error') order.push('error');
        return event === 'error' || super.emit(event, ...args);
      }
    }
    client = new Listening({ connectionString: database.url, pipeline: true }) as unknown as Client;
    await client.connect();
    const failed = [1, 2].map((place) =>
      client.query('SELECT pg_sleep(9)').catch((error: Error) => order.push(`${place}: ${error.message}`)),
    );
    client.connection.stream.destroy();
    await Promise.all(failed);
    const text = 'Connection terminated unexpectedly';
    expect(order).toEqual(['error', `1: ${text}`, `2: ${text}`]);
  });
});

function assert(): never {
  throw new Error('no such value');
}
