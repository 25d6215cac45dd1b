import type { ValidationError } from '@nestjs/common';
import { type ErrorDetail, MAX_DETAILS } from './errors';

/**
 * Context of a rule on array elements. It tells which elements break the rule, so that the error can name them.
 * @example `@Matches(ADDRESS, { each: true, context: { element: isAddress } })`
 */
export interface ElementContext {
  element: (value: unknown) => boolean;
}

/** @param path of the object that holds the fields, `''` at the top */
export function describeViolations(errors: ValidationError[], path = '', holder?: unknown): ErrorDetail[] {
  return errors.flatMap((error) => {
    const field = pathTo(path, error.property, holder);
    const children = describeViolations(error.children ?? [], field, error.value);
    return [...describe(error, field), ...children];
  });
}

function pathTo(path: string, property: string, holder: unknown): string {
  const isListed = Array.isArray(holder) || holder instanceof Set || holder instanceof Map;
  if (isListed) return `${path}[${property}]`;
  return path === '' ? property : `${path}.${property}`;
}

function describe(error: ValidationError, field: string): ErrorDetail[] {
  const messages = Object.values(error.constraints ?? {});
  const context = Object.values(error.contexts ?? {})[0] as Partial<ElementContext> | undefined;
  const element = context?.element;
  if (typeof element === 'function' && Array.isArray(error.value)) {
    const message = messages[0]?.replace('each value in ', '') ?? 'is invalid';
    const details: ErrorDetail[] = [];
    for (let index = 0; index < error.value.length && details.length < MAX_DETAILS; index++)
      if (!element(error.value[index])) details.push({ field: `${field}[${index}]`, message });
    return details;
  }
  return messages.map((message) => ({ field, message }));
}
