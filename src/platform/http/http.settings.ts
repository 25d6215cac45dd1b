import {
  IsBoolean,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  Matches,
  Max,
  Min,
  MinLength,
  ValidateIf,
} from 'class-validator';
import { ProcessSettings } from '#platform/config/process.settings';
import { isOriginRule } from '#platform/http/origins';
import { Flag, Integer, List, isAddressRange } from '#platform/config/settings';

export class HttpSettings extends ProcessSettings {
  @Integer() @IsInt() @Min(0) @Max(65535) PORT = 3001;

  @IsString() HOST = '0.0.0.0';

  @List()
  @ValidateIf(({ CORS_ORIGINS }: HttpSettings) => !CORS_ORIGINS.every(isOriginRule))
  @IsIn([], {
    message: 'must list origins such as https://app.example.org, without a path or slash, or be *',
  })
  CORS_ORIGINS: string[] = [];

  /** Addresses or CIDR ranges of the proxies whose X-Forwarded-For is trusted. */
  @List()
  @ValidateIf(({ TRUST_PROXY }: HttpSettings) => !TRUST_PROXY.every(isAddressRange))
  @IsIn([], { message: 'must list IP addresses or CIDR ranges' })
  TRUST_PROXY: string[] = [];

  @IsOptional() @MinLength(16) METRICS_TOKEN?: string;

  /** Serves the documentation page and the OpenAPI document. */
  @Flag() @IsBoolean() DOCS = true;

  /** Where clients reach the API, for the OpenAPI document. By default where the request for the document came to. */
  @IsOptional()
  @Matches(/^https?:\/\/[^\s?#]*[^\s?#/]$/, {
    message: 'must be an http(s) address without a slash at its end',
  })
  PUBLIC_URL?: string;
}
