import { IsBoolean, IsOptional, MinLength } from 'class-validator';
import { ProcessSettings } from '#platform/config/process.settings';
import { isStrongSecret } from '#platform/config/secret';
import { Flag, Setting } from '#platform/config/settings';

/** A secret with the service's own name is not random. */
const OWN_NAME = /savings/i;
const isStrong = (secret: string): boolean => isStrongSecret(secret) && !OWN_NAME.test(secret);

export class AccessSettings extends ProcessSettings {
  static override readonly title = 'Tokens and access';

  @Setting(
    'Signs tokens: `openssl rand -hex 32`. Production refuses one that is published here or easy to guess.',
    {
      readBy: ['API'],
      form: 'at least 32 bytes',
      unset: 'required; `npm start` makes one and keeps it in `.data/`',
      example: '',
    },
  )
  @IsOptional()
  @MinLength(32, { message: 'must be at least 32 bytes' })
  JWT_SECRET: string;

  @Setting(
    'A second secret whose tokens are accepted, while [secrets are changed](operate.md#changing-secrets).',
    { readBy: ['API'], form: 'at least 32 bytes', unset: 'none', example: '' },
  )
  @IsOptional()
  @MinLength(32, { message: 'must be at least 32 bytes' })
  JWT_PREVIOUS_SECRET?: string;

  @Setting('`true` opens the lottery endpoints to callers without a token.', { readBy: ['API'] })
  @Flag()
  @IsBoolean()
  LOTTERY_PUBLIC = false;

  @Setting(
    '`true` opens `/analytics/pools`, `/lottery/current` and `/lottery/winners`, for what a page shows visitors.',
    { readBy: ['API'] },
  )
  @Flag()
  @IsBoolean()
  PUBLIC_STATISTICS = false;

  static problems(settings: AccessSettings, wrong: (name: string) => boolean): string[] {
    if (settings.NODE_ENV !== 'production') return [];
    return (['JWT_SECRET', 'JWT_PREVIOUS_SECRET'] as const)
      .filter((name) => settings[name] && !wrong(name) && !isStrong(settings[name] ?? ''))
      .map((name) => `${name} is published or easy to guess: make one with openssl rand -hex 32`);
  }
}
