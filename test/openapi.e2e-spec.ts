import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeApi, formatDocument } from '../src/openapi/write';
import { useApp } from './support/app';

const app = useApp();
const HTTP_METHODS = ['get', 'post', 'put', 'patch', 'delete'];

type Responses = Record<string, unknown>;
interface Document {
  paths: Record<string, Record<string, { security?: unknown[]; responses: Responses; operationId: string }>>;
}

const served = async (): Promise<Document> =>
  JSON.parse((await app.nest.inject({ method: 'GET', url: '/docs/openapi.json' })).payload) as Document;

it('openapi.json is not stale; if it is: npm run openapi', async () => {
  const committed = readFileSync(join(__dirname, '../openapi.json'), 'utf8');
  expect(JSON.parse(committed)).toEqual(await served());
  expect(committed).toBe(formatDocument(await describeApi()));
});

it('the document has every endpoint of the interface, and no other', async () => {
  const { paths } = await served();
  const endpoints = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(endpoints.sort()).toEqual(
    [
      'GET /analytics/pools',
      'GET /analytics/user',
      'GET /auth/me',
      'GET /auth/nonce',
      'GET /health',
      'GET /health/live',
      'GET /health/ready',
      'GET /lottery/current',
      'GET /lottery/winners',
      'GET /metrics',
      'GET /pools',
      'GET /pools/{id}',
      'GET /pools/{id}/yield',
      'DELETE /pools/{id}/membership',
      'GET /transactions',
      'GET /transactions/{hash}',
      'POST /auth/logout',
      'POST /auth/logout/all',
      'POST /auth/nonce',
      'POST /auth/verify',
      'POST /pools',
    ].sort(),
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
      expect([method, path, refused]).toEqual([method, path, security !== undefined]);
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
