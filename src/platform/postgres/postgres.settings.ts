import { IsOptional, ValidateBy } from 'class-validator';
import { Integer, Setting } from '#platform/config/settings';
import { LIMITS, type TimeLimits } from './budget';

/** Whether pg and TypeORM can read an address: they decode its user, password and path. */
function isPostgresUrl(value: unknown): boolean {
  const url = URL.parse(String(value));
  if (url === null || !/^postgres(ql)?:\/\//.test(url.href)) return false;
  try {
    return [url.username, url.password, url.pathname].map(decodeURIComponent).length > 0;
  } catch {
    return false;
  }
}

const IsPostgresUrl = (): PropertyDecorator =>
  ValidateBy({
    name: 'isPostgresUrl',
    validator: {
      validate: isPostgresUrl,
      defaultMessage: () => 'must be a postgres:// address; a password has %23 for # and %25 for %',
    },
  });

export class PostgresSettings {
  static readonly title = 'Database';

  @Setting('PostgreSQL 15 or later.', {
    readBy: ['API', 'indexer', 'verify', 'migrations'],
    form: '`postgres://…`; in a password `%23` for # and `%25` for %',
    unset: 'required; `npm start` starts its own',
    example: 'postgres://user:password@localhost:5432/database',
  })
  @IsPostgresUrl()
  DATABASE_URL: string;

  @Setting(
    'Standbys of that PostgreSQL, which then serve reads that show all acknowledged writes: up to 4 connections each. See [standbys](../deploy/scaling/standbys.md).',
    {
      readBy: ['API'],
      form: '`postgres://…`',
      unset: 'the primary serves all',
      example: 'postgres://user:password@localhost:5433/database',
    },
  )
  @IsOptional()
  @IsPostgresUrl()
  DATABASE_READ_URL?: string;

  @Setting(
    'Most connections of each process: up to 14 for named statements (separate ones for reads and for writes from 4 on), a quarter or more for TypeORM. The API has one more, to see what sessions end.',
    { readBy: ['API', 'indexer'] },
  )
  @Integer(2, 500)
  DATABASE_POOL_SIZE = 20;

  @Setting(
    'Longest time of a statement of the API that goes through TypeORM without `Transactions`, such as a report, in seconds; 0 is none.',
    { readBy: ['API'] },
  )
  @Integer(0, 86_400)
  DATABASE_STATEMENT_TIMEOUT = 0;

  /** No setting: only tests have others. */
  readonly limits: TimeLimits = LIMITS;
}
