import { IsOptional, Matches } from 'class-validator';
import { Integer, Setting } from '#platform/config/settings';

export class LimitsSettings {
  static readonly title = 'Rate limits';

  @Setting('Where replicas share rate limits.', {
    readBy: ['API'],
    form: '`redis://`, `rediss://`, `redis+sentinel://host:port,…/master` or `redis+cluster://host:port,…`',
    unset: 'each process counts for itself',
    example: 'redis://localhost:6379',
  })
  @IsOptional()
  @Matches(/^rediss?(\+sentinel|\+cluster)?:\/\//, { message: 'must be a redis:// or rediss:// address' })
  REDIS_URL?: string;

  @Setting(
    'Requests per window and client address, to all but health and metrics; each file of `/docs` counts for itself.',
    { readBy: ['API'] },
  )
  @Integer(1)
  RATE_LIMIT_GENERAL = 100;

  @Setting('The same to `/auth`.', { readBy: ['API'] })
  @Integer(1)
  RATE_LIMIT_AUTH = 5;

  @Setting('Length of that window in seconds.', { readBy: ['API'] })
  @Integer(1, 86_400)
  RATE_LIMIT_WINDOW = 900;
}
