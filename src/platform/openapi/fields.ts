import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { AMOUNT, STORED_ADDRESS } from '#values/rules';

/** Makes a decorator that documents fields of one form. */
export const field =
  (form: ApiPropertyOptions) =>
  (description?: string, more: ApiPropertyOptions = {}): PropertyDecorator =>
    ApiProperty({ ...form, description, ...more } as ApiPropertyOptions);

export const ApiAmount = field({ type: String, pattern: AMOUNT });
export const ApiAddress = field({ type: String, pattern: STORED_ADDRESS });
export const ApiId = field({ type: String, format: 'uuid' });
export const ApiTime = field({ type: String, format: 'date-time' });
export const ApiInteger = field({ type: 'integer' });
