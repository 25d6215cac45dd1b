import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Operation } from './openapi';

export interface Endpoint {
  method: string;
  /** The path with a placeholder for each parameter, which is no existing id. */
  path: string;
  operation: Operation;
}

const { paths } = JSON.parse(readFileSync(join(__dirname, '../../openapi.json'), 'utf8')) as {
  paths: Record<string, Record<string, Operation>>;
};

/** Every endpoint of openapi.json. Another test compares that file with the routes of the service. */
export const ENDPOINTS: Endpoint[] = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    method: method.toUpperCase(),
    path: path.replace(/\{\w+\}/g, 'x'),
    operation,
  })),
);

/** Endpoints that need a token. `/metrics` may need another kind of token. */
export const PROTECTED = ENDPOINTS.filter(({ operation }) =>
  operation.security?.some((scheme) => 'bearer' in scheme),
).filter(({ path }) => path !== '/metrics');

/** Whether the answer is an endless stream. */
export const isStream = ({ responses }: Operation): boolean =>
  'text/event-stream' in (responses['200']?.content ?? {});
