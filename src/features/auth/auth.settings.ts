import { IsInt, IsOptional, IsString, Min } from 'class-validator';
import { ProcessSettings } from '#platform/config/process.settings';
import { Integer, List } from '#platform/config/settings';

/** Which sign-in messages are accepted. */
export class AuthSettings extends ProcessSettings {
  @List() @IsString({ each: true }) SIWE_DOMAINS: string[] = [];

  @IsOptional() @Integer() @IsInt() @Min(1) CHAIN_ID?: number;
}
