import { IsInt, IsOptional, Matches, Max, Min } from 'class-validator';
import { Integer } from '#platform/config/settings';

export class PostgresSettings {
  @Matches(/^postgres(ql)?:\/\//, { message: 'must be a postgres:// address' })
  DATABASE_URL: string;

  /** Leads to standbys. Some reads go there; see `StandbyReads`. */
  @IsOptional()
  @Matches(/^postgres(ql)?:\/\//, { message: 'must be a postgres:// address' })
  DATABASE_READ_URL?: string;

  @Integer() @IsInt() @Min(2) @Max(500) DATABASE_POOL_SIZE = 20;

  /**
   * Statements that run longer than this many ms are cancelled. The service answers within 5 s whatever the database
   * does.
   */
  readonly statementTimeout: number = 4000;
}
