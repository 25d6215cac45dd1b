import { IsInt, IsOptional, Matches, Max, Min } from 'class-validator';
import { Integer } from '#platform/config/settings';

export class LimitsSettings {
  @IsOptional()
  @Matches(/^rediss?(\+sentinel|\+cluster)?:\/\//, { message: 'must be a redis:// or rediss:// address' })
  REDIS_URL?: string;

  @Integer() @IsInt() @Min(1) RATE_LIMIT_GENERAL = 100;

  @Integer() @IsInt() @Min(1) RATE_LIMIT_AUTH = 5;

  /** Seconds. */
  @Integer() @IsInt() @Min(1) @Max(86_400) RATE_LIMIT_WINDOW = 900;
}
