import { IsIn, IsOptional, MaxLength } from 'class-validator';
import { Setting } from './settings';

export class ProcessSettings {
  static readonly title: string = 'Every process';

  @Setting(
    '`production` refuses to start without what it needs, takes https only in sign-in messages (http for localhost), and gives load balancers time before it closes.',
    { readBy: 'all' },
  )
  @IsIn(['development', 'test', 'production'])
  NODE_ENV: 'development' | 'test' | 'production' = 'development';

  @Setting('The least that is logged.', { readBy: ['API', 'indexer', 'keeper'] })
  @IsIn(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
  LOG_LEVEL = 'info';

  @Setting('Who runs a command by hand, such as `rewind`, for its record in `operator_records`.', {
    readBy: ['indexer', 'verify', 'migrations'],
    form: 'at most 100 characters',
    unset: 'account and machine',
    example: '',
  })
  @IsOptional()
  @MaxLength(100)
  OPERATOR?: string;
}
