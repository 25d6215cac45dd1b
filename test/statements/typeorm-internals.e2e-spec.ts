import { Pool } from 'pg';
import { DataSource, QueryFailedError } from 'typeorm';
import { COMMIT, driverWith, poolOf } from '#platform/postgres/typeorm-internals';
import { type TestDatabase, emptyDatabase } from '../support/database';

describe('members of TypeORM beside its public types', () => {
  /** Texts of the statements that TypeORM sends. */
  const sent: string[] = [];
  class OwnPool extends Pool {
    constructor(...options: ConstructorParameters<typeof Pool>) {
      super(...options);
      this.on('connect', (client) => {
        const query = client.query.bind(client) as (...args: unknown[]) => unknown;
        Object.assign(client, {
          query: (...args: unknown[]): unknown => {
            sent.push(String(args[0]));
            return query(...args);
          },
        });
      });
    }
  }
  let database: TestDatabase;
  let source: DataSource;

  beforeAll(async () => {
    database = await emptyDatabase();
    source = new DataSource({
      type: 'postgres',
      url: database.url,
      driver: driverWith(OwnPool),
      installExtensions: false,
    });
    await source.initialize();
  });
  afterAll(async () => {
    await source.destroy();
    await database.drop();
  });

  it('the option driver: only the class of the pool', () => expect(poolOf(source)).toBeInstanceOf(OwnPool));

  it('driver.master: the pool of all its connections', async () => {
    const runner = source.createQueryRunner();
    await runner.connect();
    expect(poolOf(source)).toMatchObject({ totalCount: 1, idleCount: 0, waitingCount: 0 });
    await runner.release();
    expect(poolOf(source)).toMatchObject({ totalCount: 1, idleCount: 1, waitingCount: 0 });
  });

  it('the text of a commit', async () => {
    sent.length = 0;
    await source.transaction((manager) => manager.query('SELECT'));
    expect(sent).toEqual(['START TRANSACTION', 'SELECT', COMMIT]);
  });

  it('QueryFailedError.driverError: what the pool threw', async () => {
    const error: unknown = await source.query('SELECT 1 / 0').catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(QueryFailedError);
    expect((error as QueryFailedError).driverError).toMatchObject({ code: '22012' });
  });
});
