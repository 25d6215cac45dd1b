import { readFileSync } from 'node:fs';
import path from 'node:path';
import { handlers } from './handlers';
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

/** The tables of docs/endpoints.md, from openapi.json: each endpoint, the file that answers it, and its statements. */
export async function endpointTables(): Promise<string> {
  const document = JSON.parse(readFileSync(path.join(ROOT, 'openapi.json'), 'utf8')) as Document;
  const byId = await handlers();
  const byTag = new Map<string, string[][]>();
  for (const [url, methods] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(methods)) {
      const { operationId, summary, tags, security = [] } = operation;
      const handler = byId.get(operationId);
      if (!handler) throw new Error(`no controller has a method for ${operationId}`);
      const { file, statements } = handler;
      const name = `\`${method.toUpperCase()} ${url.replaceAll(/\{(\w+)\}/g, ':$1')}\``;
      const rows = byTag.get(tags[0]) ?? [];
      byTag.set(tags[0], rows);
      rows.push([
        [name, ...parametersOf(operation, document)].join(' '),
        security.length > 0 ? 'yes' : '',
        summary,
        `[${path.basename(file)}](../${file})`,
        statements.map((each) => `\`${each}\``).join(', '),
      ]);
    }
  return [...byTag]
    .map(
      ([tag, rows]) =>
        `## ${tag}\n\n${table(['endpoint', 'token', 'what', 'answered by', 'statements'], rows)}`,
    )
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
