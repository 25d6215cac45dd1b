import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Operation } from './openapi';

export interface Endpoint {
  method: string;
  /** With a value in the place of each parameter, one that nothing has as its id. */
  path: string;
  operation: Operation;
}

const { paths } = JSON.parse(readFileSync(join(__dirname, '../../openapi.json'), 'utf8')) as {
  paths: Record<string, Record<string, Operation>>;
};

/** Every endpoint of openapi.json; that this is what the service serves is a test of its own. */
export const ENDPOINTS: Endpoint[] = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    method: method.toUpperCase(),
    path: path.replace(/\{\w+\}/g, 'x'),
    operation,
  })),
);

/** Those that need a token; `/metrics` needs one of its own, if any. */
export const PROTECTED = ENDPOINTS.filter(({ operation }) =>
  operation.security?.some((scheme) => 'bearer' in scheme),
).filter(({ path }) => path !== '/metrics');

/** Whether the answer has no end. */
export const isStream = ({ responses }: Operation): boolean =>
  'text/event-stream' in (responses['200']?.content ?? {});
