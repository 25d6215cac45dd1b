import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { POOL_TYPES, type PoolType } from '#values/types';

/** To extend: an answer with one field for each pool type, described to the document by `options`. */
export function FieldsByType<T>(options: ApiPropertyOptions): new () => Record<PoolType, T> {
  class Fields {}
  for (const type of POOL_TYPES) ApiProperty(options)(Fields.prototype, type);
  return Fields as new () => Record<PoolType, T>;
}
