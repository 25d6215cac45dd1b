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

/** Clients rely on these endpoints, so they are listed by name. */
it('the document has the endpoints of the contract', async () => {
  expect(endpointsOf(await served())).toEqual(
    expect.arrayContaining([
      'GET /analytics/pools',
      'GET /analytics/user',
      'GET /auth/me',
      'GET /auth/nonce',
      'GET /config',
      'GET /config/abi',
      'GET /health',
      'GET /health/live',
      'GET /health/ready',
      'GET /lottery/calls/cancel',
      'GET /lottery/calls/claim',
      'GET /lottery/calls/complete',
      'GET /lottery/calls/refund',
      'GET /lottery/calls/tickets',
      'GET /lottery/current',
      'GET /lottery/winners',
      'GET /metrics',
      'GET /pools',
      'GET /pools/{id}',
      'GET /pools/{id}/calls/claim',
      'GET /pools/{id}/calls/deposit',
      'GET /pools/{id}/calls/withdraw',
      'GET /pools/{id}/yield',
      'DELETE /pools/{id}/membership',
      'GET /transactions',
      'GET /transactions/{hash}',
      'GET /users/me/stray-deposits',
      'POST /auth/logout',
      'POST /auth/logout/all',
      'POST /auth/nonce',
      'POST /auth/verify',
      'POST /pools',
    ]),
  );
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

it('operation ids are unique', async () => {
  const ids = Object.values((await served()).paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  );
  expect(new Set(ids).size).toBe(ids.length);
});

it('the page is served', async () => {
  const answer = await app.get('/docs');
  expect(answer.status).toBe(200);
  expect(answer.headers['content-type']).toContain('text/html');
  const script = await app.nest.inject({ method: 'GET', url: '/docs/assets/swagger-ui-bundle.js' });
  expect(script.statusCode).toBe(200);
});
