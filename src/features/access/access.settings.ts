import { IsBoolean, IsOptional, MinLength } from 'class-validator';
import { ProcessSettings } from '#platform/config/process.settings';
import { isStrongSecret } from '#platform/config/secret';
import { Flag } from '#platform/config/settings';

/** A secret with the service's own name is not random. */
const OWN_NAME = /savings/i;
const isStrong = (secret: string): boolean => isStrongSecret(secret) && !OWN_NAME.test(secret);

export class AccessSettings extends ProcessSettings {
  @IsOptional() @MinLength(32, { message: 'must be at least 32 bytes' }) JWT_SECRET: string;

  @IsOptional() @MinLength(32, { message: 'must be at least 32 bytes' }) JWT_PREVIOUS_SECRET?: string;

  /** Opens the lottery's endpoints to callers without a token. */
  @Flag() @IsBoolean() LOTTERY_PUBLIC = false;

  /** Opens what a visitor may see: the totals of all pools, the open draw and past winners. */
  @Flag() @IsBoolean() PUBLIC_STATISTICS = false;

  static problems(settings: AccessSettings, wrong: (name: string) => boolean): string[] {
    if (settings.NODE_ENV !== 'production') return [];
    return (['JWT_SECRET', 'JWT_PREVIOUS_SECRET'] as const)
      .filter((name) => settings[name] && !wrong(name) && !isStrong(settings[name] ?? ''))
      .map((name) => `${name} is published or easy to guess: make one with openssl rand -hex 32`);
  }
}
