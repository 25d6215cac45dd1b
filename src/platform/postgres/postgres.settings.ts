import { IsInt, IsOptional, Max, Min, ValidateBy } from 'class-validator';
import { Integer } from '#platform/config/settings';
import { RUNNING_MS } from './budget';

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
  @IsPostgresUrl()
  DATABASE_URL: string;

  /** Leads to standbys. Some reads go there; see `StandbyReads`. */
  @IsOptional()
  @IsPostgresUrl()
  DATABASE_READ_URL?: string;

  @Integer() @IsInt() @Min(2) @Max(500) DATABASE_POOL_SIZE = 20;

  /** When a named statement that was sent at the latest moment is cancelled, in ms from its request. */
  readonly statementTimeout: number = RUNNING_MS;
}
