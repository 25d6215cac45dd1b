import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { table } from './markdown';

const ROOT = path.join(__dirname, '../..');

interface Operation {
  operationId: string;
  summary: string;
  tags: string[];
  security?: object[];
  parameters?: { name: string; in: string; required?: boolean }[];
  requestBody?: { content: Record<string, { schema: { $ref?: string } }> };
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, { properties?: object; required?: string[] }> };
}

/** The tables of docs/endpoints.md, from openapi.json: each endpoint, and the file that answers it. */
export function endpointTables(): string {
  const document = JSON.parse(readFileSync(path.join(ROOT, 'openapi.json'), 'utf8')) as Document;
  const files = controllers();
  const byTag = new Map<string, string[][]>();
  for (const [url, methods] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(methods)) {
      const { operationId, summary, tags, security = [] } = operation;
      const file = files.get(operationId.split('_')[0]);
      if (!file) throw new Error(`no controller is called as ${operationId} begins`);
      const name = `\`${method.toUpperCase()} ${url.replaceAll(/\{(\w+)\}/g, ':$1')}\``;
      const rows = byTag.get(tags[0]) ?? [];
      byTag.set(tags[0], rows);
      rows.push([
        [name, ...parametersOf(operation, document)].join(' '),
        security.length > 0 ? 'yes' : '',
        summary,
        `[${path.basename(file)}](../${file})`,
      ]);
    }
  return [...byTag]
    .map(([tag, rows]) => `## ${tag}\n\n${table(['endpoint', 'token', 'what', 'answered by'], rows)}`)
    .join('\n\n');
}

/** `?type&page` of the query, `{amount, members?}` of the body. */
function parametersOf({ parameters = [], requestBody }: Operation, { components }: Document): string[] {
  const query = parameters.filter((each) => each.in === 'query').map(({ name }) => name);
  const schema = requestBody?.content['application/json'].schema.$ref?.split('/').pop();
  const { properties = {}, required = [] } = schema === undefined ? {} : components.schemas[schema];
  const body = Object.keys(properties).map((field) => (required.includes(field) ? field : `${field}?`));
  return [
    ...(query.length > 0 ? [`\`?${query.join('&')}\``] : []),
    ...(body.length > 0 ? [`\`{${body.join(', ')}}\``] : []),
  ];
}

/** Files of the controllers by how their operations' ids begin: `pools` of `PoolsController`. */
function controllers(): Map<string, string> {
  // A small controller may stand beside what it reports.
  const files = readdirSync(path.join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    /(?<!\.spec)\.ts$/.test(file),
  );
  return new Map(
    files.flatMap((file) => {
      const text = readFileSync(path.join(ROOT, 'src', file), 'utf8');
      return [...text.matchAll(/^export class (\w+)Controller\b/gm)].map(
        ([, name]) => [name.toLowerCase(), `src/${file}`] as const,
      );
    }),
  );
}
