import { IsInt, IsOptional, Matches, Max, Min } from 'class-validator';
import { Integer } from '#platform/config/settings';
import { RUNNING_MS } from './budget';

export class PostgresSettings {
  @Matches(/^postgres(ql)?:\/\//, { message: 'must be a postgres:// address' })
  DATABASE_URL: string;

  /** Leads to standbys. Some reads go there; see `StandbyReads`. */
  @IsOptional()
  @Matches(/^postgres(ql)?:\/\//, { message: 'must be a postgres:// address' })
  DATABASE_READ_URL?: string;

  @Integer() @IsInt() @Min(2) @Max(500) DATABASE_POOL_SIZE = 20;

  /** When a named statement that was sent at the latest moment is cancelled, in ms from its request. */
  readonly statementTimeout: number = RUNNING_MS;
}
