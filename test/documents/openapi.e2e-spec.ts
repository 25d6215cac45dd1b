import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeApi, formatDocument } from '#dev/write-openapi';
import { useApp } from '../support/app';

/** Every route of the controllers as registered at the server. HEAD comes with each GET. */
const routes: string[] = [];
const app = useApp(
  {},
  {
    prepare: (nest) =>
      nest
        .getHttpAdapter()
        .getInstance()
        .addHook('onRoute', ({ method, url }) => {
          for (const each of [method].flat())
            if (each !== 'HEAD') routes.push(`${each} ${url.replace(/:(\w+)/g, '{$1}')}`);
        }),
  },
);
const HTTP_METHODS = ['get', 'post', 'put', 'patch', 'delete'];

interface Operation {
  security: unknown[];
  responses: Record<string, unknown>;
  operationId: string;
  parameters?: { in: string; name: string }[];
  requestBody?: { content: Record<string, { schema: { $ref: string } }> };
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, { properties?: object; required?: string[] }> };
}

const served = async (): Promise<Document> =>
  JSON.parse((await app.nest.inject({ method: 'GET', url: '/docs/openapi.json' })).payload) as Document;

it('openapi.json is not stale; if it is: npm run openapi', async () => {
  const committed = readFileSync(join(__dirname, '../../openapi.json'), 'utf8');
  // Where it is served it has the address of the request: test/documents/docs.e2e-spec.ts.
  const { servers } = JSON.parse(committed) as { servers: unknown[] };
  expect(JSON.parse(committed)).toEqual({ ...(await served()), servers });
  expect(committed).toBe(formatDocument(await describeApi()));
});

const endpointsOf = ({ paths }: Document): string[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );

it('the document has every route that the service serves, and no other', async () => {
  expect(routes.length).toBeGreaterThan(10);
  expect(endpointsOf(await served()).sort()).toEqual([...new Set(routes)].sort());
});

it('the document says where a token is needed, and the service agrees', async () => {
  const { paths } = await served();
  for (const [path, methods] of Object.entries(paths))
    for (const method of HTTP_METHODS.filter((name) => methods[name])) {
      const { security, responses } = methods[method];
      // Open unless METRICS_TOKEN is set.
      if (path === '/metrics') continue;
      const url = path.replace(/\{.*?\}/, 'x');
      const { status, body } = await app.send({ method: method.toUpperCase(), url });
      const refused = status === 401 && body.error === 'Invalid token';
      expect([method, path, refused]).toEqual([method, path, security.length > 0]);
      if (refused) expect(responses).toHaveProperty('401');
    }
});

it('every operation but the probes may be limited, fail, or find the database out', async () => {
  const { paths } = await served();
  for (const [path, methods] of Object.entries(paths).filter(([path]) => !/^\/(health|metrics)/.test(path)))
    for (const { responses } of Object.values(methods))
      expect([path, Object.keys(responses)]).toEqual([path, expect.arrayContaining(['429', '500', '503'])]);
});
