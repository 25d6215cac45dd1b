import { ArrayMaxSize, ArrayNotEmpty, IsBoolean, IsInt, Max, Min } from 'class-validator';
import { ProcessSettings } from '#platform/config/process.settings';
import { Flag, IntegerList } from '#platform/config/settings';

export class ReceiversSettings extends ProcessSettings {
  /** Allows webhooks to this machine and to private networks. */
  @Flag() @IsBoolean() WEBHOOK_ALLOW_PRIVATE = false;

  /** Seconds after each attempt that failed until the next: there is one attempt more than numbers. */
  @IntegerList()
  @ArrayNotEmpty()
  @ArrayMaxSize(50)
  @IsInt({ each: true })
  @Min(1, { each: true })
  @Max(86_400, { each: true })
  WEBHOOK_RETRY_SECONDS = [10, 30, 120, 600, 3600, 14_400, 43_200];

  static problems({ NODE_ENV, WEBHOOK_ALLOW_PRIVATE }: ReceiversSettings): string[] {
    return NODE_ENV === 'production' && WEBHOOK_ALLOW_PRIVATE === true
      ? ['WEBHOOK_ALLOW_PRIVATE is refused in production']
      : [];
  }
}
