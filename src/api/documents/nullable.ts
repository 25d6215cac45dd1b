import type { OpenAPIObject } from '@nestjs/swagger';

type Json = Record<string, unknown>;

/**
 * Nest writes schemas as OpenAPI 3.0 has them, with `nullable`. In 3.1, which takes JSON Schema as it is, null is a type.
 */
export const withoutNullable = (document: OpenAPIObject): OpenAPIObject =>
  converted(document) as OpenAPIObject;

function converted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(converted);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(([key, each]) => [key, converted(each)] as const);
  const { nullable, ...schema } = Object.fromEntries<unknown>(fields);
  return nullable === true ? orNull(schema) : schema;
}

function orNull({ type, enum: values, allOf, ...rest }: Json): Json {
  if (allOf) return { ...rest, anyOf: [...(allOf as unknown[]), { type: 'null' }] };
  return {
    ...rest,
    ...(type !== undefined && { type: [type, 'null'] }),
    ...(Array.isArray(values) && { enum: [...(values as unknown[]), null] }),
  };
}
