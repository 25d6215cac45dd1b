import { ArrayMaxSize, ArrayNotEmpty, IsBoolean, IsInt, Max, Min } from 'class-validator';
import { ProcessSettings } from '#platform/config/process.settings';
import { Flag, IntegerList, Setting } from '#platform/config/settings';

export class WebhooksSettings extends ProcessSettings {
  static override readonly title = 'Webhooks';

  @Setting(
    '`true`: webhooks may lead to this machine and private networks, for development. Production refuses.',
    { readBy: ['API'] },
  )
  @Flag()
  @IsBoolean()
  WEBHOOK_ALLOW_PRIVATE = false;

  @Setting('Seconds after each attempt that failed until the next; after the last number it has failed.', {
    readBy: ['API'],
    form: 'list of seconds',
  })
  @IntegerList()
  @ArrayNotEmpty()
  @ArrayMaxSize(50)
  @IsInt({ each: true })
  @Min(1, { each: true })
  @Max(86_400, { each: true })
  WEBHOOK_RETRY_SECONDS = [10, 30, 120, 600, 3600, 14_400, 43_200];

  static problems({ NODE_ENV, WEBHOOK_ALLOW_PRIVATE }: WebhooksSettings): string[] {
    return NODE_ENV === 'production' && WEBHOOK_ALLOW_PRIVATE === true
      ? ['WEBHOOK_ALLOW_PRIVATE is refused in production']
      : [];
  }
}
