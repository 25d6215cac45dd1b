import { IsBoolean } from 'class-validator';
import { ProcessSettings } from '#platform/config/process.settings';
import { Flag } from '#platform/config/settings';

export class ReceiversSettings extends ProcessSettings {
  /** Allows webhooks to this machine and to private networks. */
  @Flag() @IsBoolean() WEBHOOK_ALLOW_PRIVATE = false;

  static problems({ NODE_ENV, WEBHOOK_ALLOW_PRIVATE }: ReceiversSettings): string[] {
    return NODE_ENV === 'production' && WEBHOOK_ALLOW_PRIVATE === true
      ? ['WEBHOOK_ALLOW_PRIVATE is refused in production']
      : [];
  }
}
